#include <array>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kCocoParameters = {
    SourceParameter{.name = "annotations", .help = "Annotation file of one split, instead of SRC/annotations/instances_*.json; needs --images", .type = SourceParameter::Type::text},
    SourceParameter{.name = "images", .help = "Folder with the pictures of --annotations", .type = SourceParameter::Type::text},
    SourceParameter{.name = "keypoints", .help = "Reads person_keypoints_*.json", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "segmentation", .help = "Stores the segmentations as a field of JSON text", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "allow-missing", .help = "Leaves out pictures whose file is missing", .type = SourceParameter::Type::flag},
};
// clang-format on

void check_coco(const SourceArguments& a) {
  if (a.text("annotations").empty() != a.text("images").empty()) {
    throw Error(ErrorCode::invalid_argument,
                "--annotations FILE and --images FOLDER belong together; give both");
  }
}

std::unique_ptr<Source> open_coco_at(const SourceArguments& a) {
  return open_coco(a.path, {.annotations = a.text("annotations"),
                            .images = a.text("images"),
                            .keypoints = a.flag("keypoints"),
                            .segmentation = a.flag("segmentation"),
                            .allow_missing = a.flag("allow-missing")});
}

}  // namespace

// clang-format off
SourceKind coco_kind() {
  SourceKind kind{"coco", "COCO: pictures with boxes, key points or segmentations", "/data/coco /fast/coco", true, kCocoParameters, open_coco_at, check_coco};
  kind.place = 40;
  return kind;
}
// clang-format on

}  // namespace ffkit
