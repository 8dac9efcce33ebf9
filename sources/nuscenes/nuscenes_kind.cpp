#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/sources/nuscenes.h>

#include "converter/input/names.h"

namespace ffkit {

void describe(NuScenesOptions& options, OptionTable& table) {
  constexpr int kMaxSweeps = 100;
  table
      .add("version", options.version,
           "v1.0-trainval, v1.0-test, v1.0-mini, or another folder with the tables and the "
           "devkit's splits.json; needed when SRC has the tables of more than one")
      .set_default("the one that is there");
  table
      .add("sweeps", options.lidar_sweeps,
           "Number of lidar sweeps before each keyframe; each sweep is stored once")
      .set_range(0, kMaxSweeps);
  table
      .add("radar-sweeps", options.radar_sweeps,
           "Number of sweeps of each radar before each keyframe")
      .set_range(0, kMaxSweeps);
  table
      .add("camera-sweeps", options.camera_sweeps,
           "Number of sweeps of each camera before each keyframe")
      .set_range(0, kMaxSweeps);
  table.add_choice("lidar-dtype", options.lidar_dtype, parse_dtype, {"f32", "f16"},
                   "Data type of lidar points. f32: as in the files; f16: half the size, with an "
                   "error of up to 0.4 cm within 16 m, and of up to 3.1 cm beyond 64 m");
  table.add("allow-partial", options.allow_partial,
            "Converts the files that are there and whole. Missing and damaged files become null "
            "fields; keyframes without any file are left out");
  table
      .add_names("splits", options.splits,
                 "Splits to convert, such as train,val, or those of splits.json")
      .set_default("all");
  table
      .add_words(
          "radar-filter", [&options] { return options.radar_filter.is_on ? "devkit" : "none"; },
          [&options](const std::string& word) {
            options.radar_filter =
                word == "devkit" ? nuscenes::RadarFilter() : nuscenes::kAllRadarPoints;
          },
          "Radar points to store. none: all points; devkit: only points that pass the devkit's "
          "default filters (valid, known motion, unambiguous)")
      .set_choices({"none", "devkit"});
}

namespace {

class NuScenesKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    ffkit::describe(options_, table);
    table.add_names("cameras", cameras_, "Cameras to convert, such as CAM_FRONT,CAM_BACK, or none")
        .set_default("all six");
    table.add("no-radar", no_radar_, "Leaves out the radars");
    table.add("keyframes-only", keyframes_only_, "Leaves out the sweeps of all sensors");
  }

  void check(const OptionTable& table) const override {
    if (options_.version.find('/') != std::string::npos) {
      table.refuse({"version"}, "is '" + options_.version + "'; it must be a folder's name in SRC");
    }
    if (!takes_no_camera()) require_names("cameras", cameras_, nuscenes::kCameras);
    const auto no_effect = [](const char* flag) {
      return "has no effect with " + option_on(flag) + "; give one of them";
    };
    if (keyframes_only_) {
      table.refuse({"sweeps", "radar-sweeps", "camera-sweeps"}, no_effect("keyframes_only"));
    }
    if (no_radar_) table.refuse({"radar-sweeps"}, no_effect("no_radar"));
  }

  bool keeps_order() const override { return true; }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    NuScenesOptions options = options_;
    options.all_cameras = cameras_.empty();
    if (!takes_no_camera()) options.cameras = cameras_;
    options.radar = !no_radar_;
    if (keyframes_only_) options.lidar_sweeps = options.radar_sweeps = options.camera_sweeps = 0;
    options.images = arguments.images;
    return open_nuscenes(arguments.path, options);
  }

 private:
  bool takes_no_camera() const { return cameras_ == std::vector<std::string>{"none"}; }

  NuScenesOptions options_;
  std::vector<std::string> cameras_;
  bool no_radar_ = false;
  bool keyframes_only_ = false;
};

}  // namespace

SourceKind nuscenes_kind() {
  return {.name = "nuscenes",
          .description =
              "nuScenes: keyframes of cameras, lidar and radars with boxes, and the "
              "sweeps between them",
          .example =
              "/data/nuscenes /fast/nuscenes --version v1.0-trainval\n"
              "  ffconvert nuscenes /data/nuscenes /fast/front --cameras CAM_FRONT "
              "--no-radar --keyframes-only",
          .options = make_source_options<NuScenesKind>,
          .pictures = PictureUse::all,
          .place = 50};
}

}  // namespace ffkit
