#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>
#include <ffkit/nuscenes/classes.h>

#include "input/argument_values.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kNuScenesParameters = {
    SourceParameter{.name = "version", .help = "v1.0-trainval, v1.0-test, v1.0-mini, or another folder with the tables and the devkit's splits.json; needed when SRC has the tables of more than one", .type = SourceParameter::Type::text},
    SourceParameter{.name = "cameras", .help = "Cameras to convert, such as CAM_FRONT,CAM_BACK, or none; default: all six", .type = SourceParameter::Type::text},
    SourceParameter{.name = "no-radar", .help = "Leaves out the radars", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "keyframes-only", .help = "Leaves out the sweeps of all sensors", .type = SourceParameter::Type::flag},
    SourceParameter{"sweeps", "Number of lidar sweeps before each keyframe; each sweep is stored once", 10, 0, 100},
    SourceParameter{"radar-sweeps", "Number of sweeps of each radar before each keyframe", 5, 0, 100},
    SourceParameter{"camera-sweeps", "Number of sweeps of each camera before each keyframe", 0, 0, 100},
    SourceParameter{.name = "lidar-dtype", .help = "Data type of lidar points. f32 (default): as in the files; f16: half the size, with an error of up to 0.4 cm within 16 m, and of up to 3.1 cm beyond 64 m", .type = SourceParameter::Type::text},
    SourceParameter{.name = "allow-partial", .help = "Converts the files that are there and whole. Missing and damaged files become null fields; keyframes without any file are left out", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "splits", .help = "Splits to convert, such as train,val, or those of splits.json; default: all", .type = SourceParameter::Type::text},
    SourceParameter{.name = "radar-filter", .help = "Radar points to store. none (default): all points; devkit: only points that pass the devkit's default filters (valid, known motion, unambiguous)", .type = SourceParameter::Type::text},
};
// clang-format on

nuscenes::RadarFilter parse_radar_filter(const std::string& name) {
  if (name.empty() || name == "none") return nuscenes::kAllRadarPoints;
  if (name == "devkit") return {};
  throw Error(ErrorCode::invalid_argument,
              option_name("radar_filter") + " is '" + name + "'; it must be devkit or none");
}

std::vector<std::string> cameras_of(const SourceArguments& a) {
  const std::string cameras = a.text("cameras");
  return cameras == "none" ? std::vector<std::string>() : parse_names(cameras);
}

DType lidar_dtype(const SourceArguments& a) {
  return dtype_of(a, "lidar-dtype", {DType::f32, DType::f16});
}

void check_nuscenes(const SourceArguments& a) {
  if (a.text("version").find('/') != std::string::npos) {
    throw Error(ErrorCode::invalid_argument, option_name("version") + " is '" + a.text("version") +
                                                 "'; it must be a folder's name in SRC");
  }
  require_names("cameras", cameras_of(a), nuscenes::kCameras);
  static_cast<void>(lidar_dtype(a));
  static_cast<void>(parse_radar_filter(a.text("radar-filter")));
  // Options that would have no effect.
  const auto is_given = [&a](const SourceParameter& p) { return a.number(p) != p.default_value; };
  for (const size_t i : {4, 5, 6}) {
    const SourceParameter& sweeps_of = kNuScenesParameters[i];
    const char* without = a.flag("keyframes-only")       ? "keyframes-only"
                          : i == 5 && a.flag("no-radar") ? "no-radar"
                                                         : nullptr;
    if (without != nullptr && is_given(sweeps_of)) {
      throw Error(ErrorCode::invalid_argument,
                  option_name(key_of(sweeps_of.name)) + " has no effect with " +
                      option_on(key_of(without)) + "; give one of them");
    }
  }
}

std::unique_ptr<Source> open_nuscenes_at(const SourceArguments& a) {
  const auto sweeps = [&a](size_t parameter) {
    return a.flag("keyframes-only") ? 0
                                    : static_cast<int>(a.number(kNuScenesParameters[parameter]));
  };
  return open_nuscenes(a.path, {.version = a.text("version"),
                                .splits = parse_names(a.text("splits")),
                                .cameras = cameras_of(a),
                                .all_cameras = a.text("cameras").empty(),
                                .radar = !a.flag("no-radar"),
                                .lidar_sweeps = sweeps(4),
                                .radar_sweeps = sweeps(5),
                                .camera_sweeps = sweeps(6),
                                .allow_partial = a.flag("allow-partial"),
                                .lidar_dtype = lidar_dtype(a),
                                .radar_filter = parse_radar_filter(a.text("radar-filter")),
                                .images = a.images});
}

}  // namespace

// clang-format off
SourceKind nuscenes_kind() {
  SourceKind kind{"nuscenes", "nuScenes: keyframes of cameras, lidar and radars with boxes, and the sweeps between them", "/data/nuscenes /fast/nuscenes --version v1.0-trainval\n  ffconvert nuscenes /data/nuscenes /fast/front --cameras CAM_FRONT --no-radar --keyframes-only", true, kNuScenesParameters, open_nuscenes_at, check_nuscenes, true, true};
  kind.place = 50;
  return kind;
}
// clang-format on

}  // namespace ffkit
