#include <array>
#include <memory>
#include <string_view>

#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/imagenet.h>

#include "converter/input/names.h"

namespace ffkit {
namespace {

class ImageNetKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table.add_names("splits", options_.splits, "Splits to convert, such as train or train,val")
        .set_default("all that are there");
    table.add("check-archives", options_.check_archives,
              "First compares the MD5 sums of the archives with the official ones; reads all of "
              "them");
    table.add("allow-partial", options_.allow_partial,
              "Takes the validation pictures that are there, and counts those that are not");
  }

  void check(const OptionTable& /*table*/) const override {
    constexpr std::array<std::string_view, 3> kSplits = {"train", "val", "test"};
    require_names("splits", options_.splits, kSplits);
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    ImageNetOptions options = options_;
    options.images = arguments.images;
    return open_imagenet(arguments.path, options);
  }

 private:
  ImageNetOptions options_;
};

}  // namespace

SourceKind imagenet_kind() {
  return {.name = "imagenet",
          .description =
              "ImageNet (ILSVRC2012): the official archives, extracted folders, or "
              "Kaggle's layout",
          .example = "/data/imagenet /fast/imagenet",
          .options = make_source_options<ImageNetKind>,
          .pictures = PictureUse::all,
          .takes_exif = true,
          .place = 10};
}

}  // namespace ffkit
