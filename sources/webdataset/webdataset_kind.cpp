#include <memory>
#include <optional>

#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/webdataset.h>

namespace ffkit {
namespace {

class WebDatasetSourceKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table.add("classes", options_.classes,
              "Text file with one class name on each line; without it, labels have no names");
    table.add("allow-missing", options_.allow_missing,
              "Accepts samples that lack a member which others have: the field is null");
    table.add("numbered-frames", options_.numbered_frames,
              "Pictures of a sample whose names end in numbers, such as 0001.jpg or "
              "depth_0001.png, are frames of a video: one list in the order of their numbers, "
              "frames or depth/frames");
    table.add(
        "id-member", options_.id_member,
        "Extension of the members that hold the samples' ids, such as id.txt, which ffinspect "
        "export writes; a sample without one, and every sample without this option, has its "
        "key for an id");
    table
        .add("max-sample-bytes", options_.max_sample_bytes,
             "Largest sample; a larger one counts as bad. Each thread holds one sample in memory")
        .set_size()
        .set_range(1 << 10, 1LL << 40);
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    WebDatasetOptions options = options_;
    options.store = arguments.images.store;
    options.exif = arguments.images.exif;
    options.temporary_folder = arguments.temporary_folder;
    options.cancel = arguments.conversion.cancel;
    options.group = arguments.group;
    return open_webdataset(arguments.path, options);
  }

  std::optional<FileListing> list_files(const SourceArguments& arguments) const override {
    return webdataset_files(arguments.path, options_);
  }

 private:
  WebDatasetOptions options_;
};

}  // namespace

SourceKind webdataset_kind() {
  return {.name = "webdataset",
          .description = "WebDataset: a folder of tar files, or one tar file; compressed ones too",
          .example = "/data/imagenet-wds /fast/imagenet",
          .options = make_source_options<WebDatasetSourceKind>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 30};
}

}  // namespace ffkit
