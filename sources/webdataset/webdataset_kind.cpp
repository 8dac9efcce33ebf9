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
              "Text file with one class name on each line. With this file, labels may be names of "
              "classes. Without this file, labels are only numbers");
    table.add("label-key", options_.label_key,
              "Member of each sample's .json file that contains the label. The label is a whole "
              "number or the name of a class");
    table.add("allow-missing", options_.allow_missing,
              "If a sample lacks a member that other samples have, the field is null, instead of "
              "an error");
    table.add("numbered-frames", options_.numbered_frames,
              "Names of pictures that end with numbers, such as 0001.jpg or depth_0001.png, mean "
              "frames of a video; the frames of a sample become one list in the order of the "
              "numbers, the field 'frames' or 'depth/frames'");
    table.add(
        "id-member", options_.id_member,
        "Extension of the members that contain the ids of the samples. 'ffinspect export' writes "
        "members with the extension id.txt. Without this option, the id of a sample is its key");
    table
        .add("max-sample-bytes", options_.max_sample_bytes,
             "Limit for the size of a sample; a larger sample is a bad sample. Each thread keeps "
             "one sample in memory")
        .set_size()
        .set_range(1 << 10, 1LL << 40);
  }
};

}  // namespace

SourceKind webdataset_kind() {
  return {.name = "webdataset",
          .description =
              "WebDataset: a folder of tar files, or one tar file. The files may be compressed",
          .example = "/data/imagenet-wds /fast/imagenet",
          .options = make_source_options<WebDatasetSourceKind>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 30};
}

}  // namespace ffkit
