#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>

#include "input/argument_values.h"
#include "sources/demo_nuscenes/root_writer.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kDemoParameters = {
    SourceParameter{.name = "kind", .help = "What is made. pictures (default): pictures of classes; nuscenes: scenes of driving in nuScenes' layout, with six cameras and a lidar, for detectors; pose: figures of people before a known camera, for RootNet", .type = SourceParameter::Type::text},
    SourceParameter{"size", "Width and height in pixels; of pose 128 by default. Of nuscenes: width, a multiple of 16 from 64 to 1600, 320 by default", 64, 16, 2048},
    SourceParameter{"classes", "Number of classes", 10, 2, 1152},
    SourceParameter{"images", "Number of training pictures", 2000, 1, 100'000'000},
    SourceParameter{"val-images", "Number of validation pictures; 0: no validation split", 500, 0, 100'000'000},
    SourceParameter{"scenes", "With --kind nuscenes: number of training scenes", 60, 1, 700},
    SourceParameter{"val-scenes", "With --kind nuscenes: number of validation scenes; 0: no validation split", 12, 0, 150},
    SourceParameter{"frames", "With --kind nuscenes: number of keyframes of a scene, half a second apart", 10, 2, 100},
    SourceParameter{.name = "root", .help = "With --kind nuscenes: a new or empty folder that keeps the files in the official layout. Default: a temporary folder below TMPDIR", .type = SourceParameter::Type::text},
};
// clang-format on

constexpr size_t kSize = 1;
// Parameters of one kind of demo alone.
constexpr std::span<const SourceParameter> kOfPictures = std::span(kDemoParameters).subspan(2, 3);
constexpr std::span<const SourceParameter> kOfNuScenes = std::span(kDemoParameters).subspan(5);

// Likewise those of pictures and pose.
constexpr std::span<const SourceParameter> kOfClasses = kOfPictures.first(1);

bool is_demo_pose(const SourceArguments& arguments) {
  return arguments.text("kind") == "pose";
}

bool is_demo_nuscenes(const SourceArguments& arguments) {
  return arguments.text("kind") == "nuscenes";
}

DemoOptions picture_options(const SourceArguments& arguments) {
  return {.num_classes = arguments.number(kOfPictures[0]),
          .num_train = arguments.number(kOfPictures[1]),
          .num_val = arguments.number(kOfPictures[2]),
          .size = arguments.number(kDemoParameters[kSize]),
          .seed = arguments.seed,
          .images = arguments.images};
}

DemoPoseOptions pose_options(const SourceArguments& arguments) {
  DemoPoseOptions options{.num_train = arguments.number(kOfPictures[1]),
                          .num_val = arguments.number(kOfPictures[2]),
                          .seed = arguments.seed,
                          .images = arguments.images};
  if (const auto size = arguments.numbers.find(kDemoParameters[kSize].name);
      size != arguments.numbers.end()) {
    options.size = size->second;
  }
  return options;
}

DemoNuScenesOptions nuscenes_options(const SourceArguments& arguments) {
  DemoNuScenesOptions options{.num_train_scenes = arguments.number(kOfNuScenes[0]),
                              .num_val_scenes = arguments.number(kOfNuScenes[1]),
                              .num_keyframes = arguments.number(kOfNuScenes[2]),
                              .seed = arguments.seed,
                              .num_threads = arguments.num_threads,
                              .cancel = arguments.cancel,
                              .images = arguments.images};
  if (const auto size = arguments.numbers.find(kDemoParameters[kSize].name);
      size != arguments.numbers.end()) {
    options.width = size->second;
  }
  if (!arguments.is_dry_run) options.root = arguments.text("root");
  return options;
}

void check_demo(const SourceArguments& arguments) {
  const std::string kind = arguments.text("kind");
  if (!kind.empty() && kind != "pictures" && kind != "nuscenes" && kind != "pose") {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is '{}'; it must be pictures, nuscenes or pose",
                            option_name("kind"), kind));
  }
  const bool is_nuscenes = is_demo_nuscenes(arguments);
  const auto refuse_any = [&](std::span<const SourceParameter> parameters) {
    for (const SourceParameter& parameter : parameters) {
      if (!arguments.numbers.contains(parameter.name) &&
          !arguments.texts.contains(parameter.name)) {
        continue;
      }
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{} has no effect with {}; leave it out", option_name(key_of(parameter.name)),
                      option_set("kind", kind.empty() ? "pictures" : kind)));
    }
  };
  refuse_any(is_nuscenes ? kOfPictures : kOfNuScenes);
  if (is_demo_pose(arguments)) refuse_any(kOfClasses);
  if (is_nuscenes) nuscenes::demo::validate(nuscenes_options(arguments));
}

std::unique_ptr<Source> open_demo(const SourceArguments& arguments) {
  if (is_demo_nuscenes(arguments)) return make_demo_nuscenes(nuscenes_options(arguments));
  if (is_demo_pose(arguments)) return make_demo_pose(pose_options(arguments));
  return make_demo(picture_options(arguments));
}

}  // namespace

// clang-format off
SourceKind demo_kind() {
  SourceKind kind{"demo", "Made-up data that a model can learn, for trying things out: pictures of classes, a nuScenes set, or people", "/tmp/demo --classes 10 --images 2000\n  ffconvert demo /tmp/driving --kind nuscenes --scenes 60 --val-scenes 12", false, kDemoParameters, open_demo, check_demo, true};
  kind.keeps_order_with = is_demo_nuscenes;
  kind.place = 90;
  return kind;
}
// clang-format on

}  // namespace ffkit
