#include <memory>
#include <string>

#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/folder.h>

#include "converter/input/names.h"

namespace ffkit {
namespace {

class FolderKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add_names("splits", options_.splits,
                   "Splits to convert, such as train or train,val; folders of other names may be "
                   "named too")
        .set_default("all that are there");
    table
        .add_words(
            "classes-from", [this] { return options_.classes_from_all ? "all" : "train"; },
            [this](const std::string& word) { options_.classes_from_all = word == "all"; },
            "train: classes are those of the training split, and another one in val is an error; "
            "all: those of all splits")
        .set_choices({"train", "all"});
  }

  void check(const OptionTable& /*table*/) const override {
    require_different("splits", options_.splits);
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    ImageFolderOptions options = options_;
    options.images = arguments.images;
    return open_image_folder(arguments.path, options);
  }

 private:
  ImageFolderOptions options_;
};

}  // namespace

SourceKind folder_kind() {
  return {.name = "folder",
          .description = "Folders of pictures: SRC/<split>/<class>/* or SRC/<class>/*",
          .example = "my-pictures /fast/my-pictures",
          .options = make_source_options<FolderKind>,
          .pictures = PictureUse::all,
          .takes_exif = true,
          .place = 20};
}

}  // namespace ffkit
