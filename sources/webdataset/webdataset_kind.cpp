#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/webdataset.h>

#include "converter/input/kind_options.h"

namespace ffkit {
namespace {

class WebDatasetSourceKind final
    : public KindOptions<WebDatasetOptions, open_webdataset, webdataset_files> {
 public:
  void describe(OptionTable& table) override {
    table.add("classes", options_.classes,
              "Text file with one class name on each line, by which labels may be names; without "
              "it, labels have no names");
    table.add("label-key", options_.label_key,
              "The label is this member of each sample's .json: a whole number, or the name of a "
              "class");
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
