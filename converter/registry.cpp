#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <vector>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kDemoParameters = {
    SourceParameter{"classes", "Number of classes", 10, 2, 1152},
    SourceParameter{"images", "Number of training pictures", 2000, 1, 100'000'000},
    SourceParameter{"val-images", "Number of validation pictures; 0: no validation split", 500, 0, 100'000'000},
    SourceParameter{"size", "Width and height in pixels", 64, 16, 2048},
};
// clang-format on

// clang-format off
constexpr std::array kWebDatasetParameters = {
    SourceParameter{.name = "classes", .help = "File with the name of one class a line; without it labels have no names", .type = SourceParameter::Type::text},
    SourceParameter{.name = "allow-missing", .help = "Samples that lack a member which others have get an empty field", .type = SourceParameter::Type::flag},
};
constexpr std::array kCocoParameters = {
    SourceParameter{.name = "annotations", .help = "Annotation file of one split, with --images: instead of SRC/annotations/instances_*.json", .type = SourceParameter::Type::text},
    SourceParameter{.name = "images", .help = "Folder with the pictures of --annotations", .type = SourceParameter::Type::text},
    SourceParameter{.name = "keypoints", .help = "Take person_keypoints_*.json", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "segmentation", .help = "Keep the segmentations, as a field of JSON text", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "allow-missing", .help = "Leave out pictures whose file is missing", .type = SourceParameter::Type::flag},
};
constexpr std::array kJsonlParameters = {
    SourceParameter{.name = "token-dtype", .help = "Numbers that arrays of whole numbers become: u16, i32 (default) or i64", .type = SourceParameter::Type::text},
};
// clang-format on

std::unique_ptr<Source> open_jsonl_at(const SourceArguments& a) {
  const std::string name = a.text("token-dtype");
  return open_jsonl(a.path, name.empty() ? DType::i32 : parse_dtype(name));
}
std::unique_ptr<Source> open_coco_at(const SourceArguments& a) {
  return open_coco(a.path, {.annotations = a.text("annotations"),
                            .images = a.text("images"),
                            .keypoints = a.flag("keypoints"),
                            .segmentation = a.flag("segmentation"),
                            .allow_missing = a.flag("allow-missing")});
}
std::unique_ptr<Source> open_webdataset_at(const SourceArguments& a) {
  return open_webdataset(a.path,
                         {.classes = a.text("classes"), .allow_missing = a.flag("allow-missing")});
}

std::unique_ptr<Source> open_demo(const SourceArguments& arguments) {
  const auto value = [&arguments](size_t i) { return arguments.number(kDemoParameters[i]); };
  return make_demo({.num_classes = value(0),
                    .num_train = value(1),
                    .num_val = value(2),
                    .size = value(3),
                    .seed = arguments.seed,
                    .images = arguments.images});
}

// clang-format off
constexpr std::array kImageNetParameters = {
    SourceParameter{.name = "splits", .help = "Splits to convert, such as train or train,val; all that are there unless given", .type = SourceParameter::Type::text},
    SourceParameter{.name = "check-archives", .help = "First compare the archives' MD5 sums with the official ones: reads them whole", .type = SourceParameter::Type::flag},
};
// clang-format on

// "train,val"
std::vector<std::string> parse_names(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  std::istringstream stream(text + ",");
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

std::unique_ptr<Source> open_imagenet_at(const SourceArguments& a) {
  return open_imagenet(a.path, {.splits = parse_names(a.text("splits")),
                                .check_archives = a.flag("check-archives"),
                                .images = a.images});
}
std::unique_ptr<Source> open_folder_at(const SourceArguments& a) {
  return open_image_folder(a.path, a.images);
}

// clang-format off
constexpr std::array kNuScenesParameters = {
    SourceParameter{.name = "version", .help = "v1.0-trainval, v1.0-test or v1.0-mini; needed when SRC has the tables of several", .type = SourceParameter::Type::text},
    SourceParameter{.name = "cameras", .help = "Cameras to take, such as CAM_FRONT,CAM_BACK, or none; all six unless given", .type = SourceParameter::Type::text},
    SourceParameter{.name = "no-radar", .help = "Leave the radars out", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "keyframes-only", .help = "No sweeps of any sensor", .type = SourceParameter::Type::flag},
    SourceParameter{"sweeps", "Lidar frames before each keyframe; each frame is stored once", 10, 0, 100},
    SourceParameter{"radar-sweeps", "The same of each radar", 5, 0, 100},
    SourceParameter{"camera-sweeps", "The same of each camera", 0, 0, 100},
    SourceParameter{.name = "lidar-dtype", .help = "f32 as in the files (default), or f16: half the size, coordinates off by up to 3.1 cm from 64 m on, 0.4 cm up to 16 m", .type = SourceParameter::Type::text},
    SourceParameter{.name = "allow-partial", .help = "Go on with the files that are there: others become empty fields, keyframes without any file are left out", .type = SourceParameter::Type::flag},
};
// clang-format on

std::unique_ptr<Source> open_nuscenes_at(const SourceArguments& a) {
  const auto sweeps = [&a](size_t parameter) {
    return a.flag("keyframes-only") ? 0
                                    : static_cast<int>(a.number(kNuScenesParameters[parameter]));
  };
  // Options that would have no effect.
  const auto is_given = [&a](const SourceParameter& p) { return a.number(p) != p.default_value; };
  for (const size_t i : {4, 5, 6}) {
    const SourceParameter& sweeps_of = kNuScenesParameters[i];
    const char* without = a.flag("keyframes-only")       ? "keyframes-only"
                          : i == 5 && a.flag("no-radar") ? "no-radar"
                                                         : nullptr;
    if (without != nullptr && is_given(sweeps_of)) {
      throw Error(ErrorCode::invalid_argument, std::string("--") + sweeps_of.name +
                                                   " has no effect with --" + without +
                                                   "; give one of them");
    }
  }
  const std::string cameras = a.text("cameras");
  const std::string dtype = a.text("lidar-dtype");
  return open_nuscenes(
      a.path, {.version = a.text("version"),
               .cameras = cameras == "none" ? std::vector<std::string>() : parse_names(cameras),
               .all_cameras = cameras.empty(),
               .radar = !a.flag("no-radar"),
               .lidar_sweeps = sweeps(4),
               .radar_sweeps = sweeps(5),
               .camera_sweeps = sweeps(6),
               .allow_partial = a.flag("allow-partial"),
               .lidar_dtype = dtype.empty() ? DType::f32 : parse_dtype(dtype),
               .images = a.images});
}

// clang-format off
constexpr std::array kKinds = {
    SourceKind{"imagenet", "ImageNet (ILSVRC2012): the official archives, an extracted tree, or Kaggle's", "/data/imagenet /fast/imagenet", true, kImageNetParameters, open_imagenet_at, true},
    SourceKind{"folder", "Folders of pictures: SRC/<split>/<class>/* or SRC/<class>/*", "my-pictures /fast/my-pictures", true, {}, open_folder_at, true},
    SourceKind{"webdataset", "WebDataset: a folder of tar files, or one", "/data/imagenet-wds /fast/imagenet", true, kWebDatasetParameters, open_webdataset_at},
    SourceKind{"coco", "COCO: pictures with boxes, key points or segmentations", "/data/coco /fast/coco", true, kCocoParameters, open_coco_at},
    SourceKind{"nuscenes", "nuScenes: keyframes of cameras, lidar and radars with boxes, and the sweeps between them", "/data/nuscenes /fast/nuscenes --version v1.0-trainval\n  ffconvert nuscenes /data/nuscenes /fast/front --cameras CAM_FRONT --no-radar --keyframes-only", true, kNuScenesParameters, open_nuscenes_at, true, true},
    SourceKind{"jsonl", "JSON lines: texts, numbers and tokens; a file, or a folder of them", "/data/tokens /fast/tokens --token-dtype u16", true, kJsonlParameters, open_jsonl_at},
    SourceKind{"demo", "Generated pictures that a network can learn, for trying things out", "/tmp/demo --classes 10 --images 2000", false, kDemoParameters, open_demo, true},
};
// clang-format on

}  // namespace

int64_t SourceArguments::number(const SourceParameter& parameter) const {
  const auto found = numbers.find(parameter.name);
  return found == numbers.end() ? parameter.default_value : found->second;
}

bool SourceArguments::flag(const std::string& name) const {
  const auto found = flags.find(name);
  return found != flags.end() && found->second;
}

std::string SourceArguments::text(const std::string& name) const {
  const auto found = texts.find(name);
  return found == texts.end() ? "" : found->second;
}

std::span<const SourceKind> source_kinds() {
  return kKinds;
}

const SourceKind& source_kind(const std::string& name) {
  const auto found = std::ranges::find(kKinds, name, &SourceKind::name);
  if (found != kKinds.end()) return *found;
  std::string names;
  for (const SourceKind& kind : kKinds) names += std::string(names.empty() ? "" : ", ") + kind.name;
  throw Error(ErrorCode::not_found, "there is no source '" + name + "'; there are " + names);
}

}  // namespace ffkit
