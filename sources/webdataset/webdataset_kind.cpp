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
              "Text file with one class name on each line, so that labels may be names; without "
              "it, labels are only numbers");
    table.add("label-key", options_.label_key,
              "Takes the label from this member of each sample's .json: a whole number, or the "
              "name of a class");
    table.add("allow-missing", options_.allow_missing,
              "If a sample lacks a member that others have, its field is null instead of an error");
    table.add("numbered-frames", options_.numbered_frames,
              "If the names of a sample's pictures end in numbers, such as 0001.jpg or "
              "depth_0001.png, they are frames of a video: they become one list in the order of "
              "the numbers, called frames or depth/frames");
    table.add("id-member", options_.id_member,
              "Extension of the members with the ids of the samples, such as id.txt, which "
              "ffinspect export writes; without it, the id is the key");
    table
        .add("max-sample-bytes", options_.max_sample_bytes,
             "Largest sample; a larger one is a bad sample. Each thread keeps one sample in memory")
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
