// The names of nuScenes: sensors' channels, detection classes, attributes, the scenes of its
// splits. Constants, in the devkit's words.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit::nuscenes {

// In the order of the fields of a record, which is also the order of cameras in a batch.
inline constexpr std::array<std::string_view, 6> kCameras = {"CAM_FRONT",      "CAM_FRONT_RIGHT",
                                                             "CAM_FRONT_LEFT", "CAM_BACK",
                                                             "CAM_BACK_LEFT",  "CAM_BACK_RIGHT"};
inline constexpr std::string_view kLidar = "LIDAR_TOP";
inline constexpr std::array<std::string_view, 5> kRadars = {
    "RADAR_FRONT", "RADAR_FRONT_LEFT", "RADAR_FRONT_RIGHT", "RADAR_BACK_LEFT", "RADAR_BACK_RIGHT"};

// Class i of boxes/class, in mmdetection3d's order.
inline constexpr std::array<std::string_view, 10> kClasses = {
    "car",        "truck",   "construction_vehicle", "bus",         "trailer", "barrier",
    "motorcycle", "bicycle", "pedestrian",           "traffic_cone"};

// Attribute i of boxes/attribute, in the order of the devkit's eval/detection/constants.py.
inline constexpr std::array<std::string_view, 8> kAttributes = {
    "pedestrian.moving",   "pedestrian.sitting_lying_down",
    "pedestrian.standing", "cycle.with_rider",
    "cycle.without_rider", "vehicle.moving",
    "vehicle.parked",      "vehicle.stopped"};

// The 18 numbers of a radar point, in the order of the files and of the columns of RADAR_*/points.
inline constexpr std::array<std::string_view, 18> kRadarFields = {"x",
                                                                  "y",
                                                                  "z",
                                                                  "dyn_prop",
                                                                  "id",
                                                                  "rcs",
                                                                  "vx",
                                                                  "vy",
                                                                  "vx_comp",
                                                                  "vy_comp",
                                                                  "is_quality_valid",
                                                                  "ambig_state",
                                                                  "x_rms",
                                                                  "y_rms",
                                                                  "invalid_state",
                                                                  "pdh0",
                                                                  "vx_rms",
                                                                  "vy_rms"};

// The class of a box of `category` ("vehicle.bus.bendy"), a position in kClasses; -1 if detection
// has no such class. Like the devkit's category_to_detection_name().
int class_of_category(std::string_view category);
// The position of `name` in kClasses or kAttributes, or -1.
int class_number(std::string_view name);
int attribute_number(std::string_view name);

// The official splits of nuScenes v1.0: which scene belongs to which. Constants; thread-safe.

// The splits of a version of the tables: "v1.0-trainval" has train and val, "v1.0-test" test,
// "v1.0-mini" mini_train and mini_val. Throws Error(invalid_argument) that lists the versions.
std::span<const std::string_view> splits_of_version(std::string_view version);

// The scenes of `split`, "scene-0061" and so on, sorted, as in nuscenes.utils.splits of
// nuscenes-devkit 1.2.0: 700 of train, 150 of val and of test, 8 of mini_train, 2 of mini_val.
// Throws Error(invalid_argument) that lists the splits.
std::vector<std::string> scenes_of_split(std::string_view split);

// `split`; or "mini_" + `split` if the data set in `folder` has only that one: with v1.0-mini,
// "train" means mini_train in all programs.
std::string split_there(const std::filesystem::path& folder, const std::string& split);

}  // namespace ffkit::nuscenes
