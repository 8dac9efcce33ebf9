#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

#include "sources/demo_nuscenes/root_writer.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kDemoParameters = {
    SourceParameter{.name = "kind", .help = "What is made. pictures (default): pictures of classes; nuscenes: scenes of driving in nuScenes' layout, with six cameras and a lidar, for detectors", .type = SourceParameter::Type::text},
    SourceParameter{"size", "Width and height in pixels. Of nuscenes: width, a multiple of 16 from 64 to 1600, 320 by default", 64, 16, 2048},
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
  if (!kind.empty() && kind != "pictures" && kind != "nuscenes") {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--kind is '{}'; it must be pictures or nuscenes", kind));
  }
  const bool is_nuscenes = is_demo_nuscenes(arguments);
  for (const SourceParameter& parameter : is_nuscenes ? kOfPictures : kOfNuScenes) {
    if (!arguments.numbers.contains(parameter.name) && !arguments.texts.contains(parameter.name)) {
      continue;
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--{} has no effect with --kind {}; leave it out", parameter.name,
                            is_nuscenes ? "nuscenes" : "pictures"));
  }
  if (is_nuscenes) nuscenes::demo::validate(nuscenes_options(arguments));
}

std::unique_ptr<Source> open_demo(const SourceArguments& arguments) {
  if (is_demo_nuscenes(arguments)) return make_demo_nuscenes(nuscenes_options(arguments));
  return make_demo(picture_options(arguments));
}

}  // namespace

// clang-format off
SourceKind demo_kind() {
  SourceKind kind{"demo", "Made-up data that a model can learn, for trying things out: pictures of classes, or a nuScenes set", "/tmp/demo --classes 10 --images 2000\n  ffconvert demo /tmp/driving --kind nuscenes --scenes 60 --val-scenes 12", false, kDemoParameters, open_demo, check_demo, true};
  kind.keeps_order_with = is_demo_nuscenes;
  kind.place = 90;
  return kind;
}
// clang-format on

}  // namespace ffkit
