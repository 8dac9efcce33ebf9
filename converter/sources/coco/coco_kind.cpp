#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>

#include "input/argument_values.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kCocoParameters = {
    SourceParameter{.name = "annotations", .help = "Annotation file of one split, instead of SRC/annotations/instances_*.json; needs --images", .type = SourceParameter::Type::text},
    SourceParameter{.name = "images", .help = "Folder with the pictures of --annotations", .type = SourceParameter::Type::text},
    SourceParameter{.name = "keypoints", .help = "Reads person_keypoints_*.json", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "segmentation", .help = "Stores the segmentations as a field of JSON text", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "allow-missing", .help = "Leaves out pictures whose file is missing", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "persons", .help = "One record a person, with its root joint, of this set as it is published for RootNet: human36m, mpii, mscoco, muco, mupots, 3dpw", .type = SourceParameter::Type::text},
    SourceParameter{.name = "detections", .help = "With --persons: takes the boxes of this JSON file, [{image_id, bbox, score}], to test on", .type = SourceParameter::Type::text},
    SourceParameter{"min-distance", "With --persons: beside the one nearest to the camera, leaves out persons nearer than this to another, mm; 0: none. Default: 500 of muco, 0 of others", 0, 0, 1'000'000},
    SourceParameter{"min-depth", "With --persons: leaves out roots that are nearer to the camera, mm. Default: 1500 of muco, 0 of others", 0, 0, 1'000'000},
    SourceParameter{"max-depth", "With --persons: leaves out roots that are further away, mm; 0: none. Default: 7500 of muco, none of others", 0, 0, 1'000'000},
    SourceParameter{"box-percent", "With --persons: what is cropped is as large as this share of the box, made square", 125, 1, 1000},
    SourceParameter{"min-box", "With --persons: leaves out boxes with a side of fewer pixels in the picture", 0, 0, 65'500},
    SourceParameter{"protocol", "With --persons human36m: 1 trains on subject 9 too, and tests on 11 alone", 2, 1, 2},
    SourceParameter{"frame-step", "With --persons human36m: takes every n-th frame. Default: 5 to train, 64 to test", 5, 1, 1'000'000},
};
// clang-format on

constexpr size_t kFirstOfPersons = 6;
constexpr size_t kFirstOfHuman36m = 11;

void check_persons(const SourceArguments& a) {
  const std::string set = a.text("persons");
  const size_t first = set.empty()         ? kFirstOfPersons
                       : set == "human36m" ? kCocoParameters.size()
                                           : kFirstOfHuman36m;
  for (size_t i = first; i < kCocoParameters.size(); ++i) {
    const char* name = kCocoParameters[i].name;
    if (!a.numbers.contains(name) && !a.texts.contains(name)) continue;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} has no effect without {}; leave it out", option_name(key_of(name)),
                    set.empty() ? option_name("persons") : option_set("persons", "human36m")));
  }
  if (set.empty()) return;
  const std::vector<std::string> names = person_set_names();
  if (std::ranges::find(names, set) == names.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is '{}'; it must be one of {}", option_name("persons"), set,
                            fmt::join(names, ", ")));
  }
  for (const char* flag : {"keypoints", "segmentation"}) {
    if (!a.flag(flag)) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} has no effect with {}; leave it out", option_name(flag),
                            option_name("persons")));
  }
}

void check_coco(const SourceArguments& a) {
  check_persons(a);
  if (a.text("annotations").empty() != a.text("images").empty()) {
    throw Error(ErrorCode::invalid_argument, option_name("annotations") + " and " +
                                                 option_name("images") +
                                                 " belong together; give both");
  }
}

// A number that was given, or -1.
int64_t given_number(const SourceArguments& a, const char* name) {
  const auto found = a.numbers.find(name);
  return found == a.numbers.end() ? -1 : found->second;
}

std::unique_ptr<Source> open_coco_at(const SourceArguments& a) {
  if (const std::string set = a.text("persons"); !set.empty()) {
    PersonsOptions options{.set = set,
                           .annotations = a.text("annotations"),
                           .images = a.text("images"),
                           .detections = a.text("detections"),
                           .allow_missing = a.flag("allow-missing"),
                           .frame_step = given_number(a, "frame-step"),
                           .min_distance = given_number(a, "min-distance"),
                           .min_depth = given_number(a, "min-depth"),
                           .max_depth = given_number(a, "max-depth"),
                           .store = a.images.store};
    if (a.numbers.contains("protocol")) options.protocol = given_number(a, "protocol");
    if (a.numbers.contains("box-percent")) options.box_percent = given_number(a, "box-percent");
    if (a.numbers.contains("min-box")) options.min_box = given_number(a, "min-box");
    return open_persons(a.path, options);
  }
  return open_coco(a.path, {.annotations = a.text("annotations"),
                            .images = a.text("images"),
                            .keypoints = a.flag("keypoints"),
                            .segmentation = a.flag("segmentation"),
                            .allow_missing = a.flag("allow-missing"),
                            .store = a.images.store});
}

}  // namespace

// clang-format off
SourceKind coco_kind() {
  SourceKind kind{"coco", "COCO: pictures with boxes, key points or segmentations", "/data/coco /fast/coco", true, kCocoParameters, open_coco_at, check_coco};
  kind.takes_store = true;
  kind.place = 40;
  return kind;
}
// clang-format on

}  // namespace ffkit
