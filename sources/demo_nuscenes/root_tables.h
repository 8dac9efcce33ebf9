// The tables of a made-up nuScenes set, and the sensors of its vehicle.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/nuscenes/geometry.h>

#include "demo_nuscenes/scene.h"

namespace ffkit::nuscenes::demo {

// The sensors of the made-up vehicle: places, axes and pictures like those of nuScenes' vehicles.
// Constants, thread-safe.

// Six cameras in the order of kCameras, then the lidar, then five radars in the order of kRadars.
inline constexpr size_t kNumSensors = 12;
inline constexpr size_t kLidarSensor = 6;

enum class Modality : uint8_t { camera, lidar, radar };
std::string_view to_string(Modality modality);

struct Sensor {
  std::string_view channel;
  Modality modality = Modality::camera;
  Pose to_ego;  // x right, y down, z ahead of a camera; x right, y ahead, z up of the lidar
  double focal_length = 0;  // of a camera, in pixels of a picture that is 1600 wide
  int64_t delay_us = 0;     // from the keyframe to the sensor's moment; 0 or less
};

const std::array<Sensor, kNumSensors>& sensors();

// Of a picture with `width` x `width * 9 / 16` pixels.
Matrix3 intrinsics_of(const Sensor& camera, int width);

// The rows of nuScenes' tables about a made-up set, as JSON. What is of one scene is made alone, so
// that scenes can be made side by side; each token is a function of the seed and of what it names.

// Rows of some tables: "sample" -> one object of JSON after the other, with commas between them.
class TableRows {
 public:
  void add(std::string_view table, const std::string& row);
  // Puts the rows of `other` behind these.
  void append(const TableRows& other);
  // Writes <folder>/<table>.json for each table that has rows. Throws Error(io).
  void write(const std::filesystem::path& folder) const;

 private:
  std::map<std::string, std::string, std::less<>> rows_;
};

// Which scene of which set.
struct SceneNumber {
  uint64_t seed = 0;
  size_t split = 0;   // 0: train, 1: val
  size_t number = 0;  // in the split, from 0
  // Different for each scene of a set.
  uint64_t id() const { return split * 1000 + number; }
  // Of a split; scenes of both do not share one.
  std::string log() const { return split == 0 ? "demo-train" : "demo-val"; }
};

// One object at one keyframe.
struct Annotation {
  int64_t num_lidar_points = 0;
  int visibility = 1;  // 1 (under 40 %) .. 4 (from 80 %)
};

// Microseconds. `keyframe` counts from 0.
int64_t timestamp_of(const SceneNumber& scene, size_t keyframe, const Sensor& sensor);
// Seconds since the scene's first keyframe.
double seconds_of(size_t keyframe, const Sensor& sensor);
// "samples/CAM_FRONT/demo-train__CAM_FRONT__1600000000000000.jpg"
std::string filename_of(const SceneNumber& scene, size_t keyframe, const Sensor& sensor);

// The rows of scene, sample, sample_data, ego_pose, instance and sample_annotation. `name`:
// "scene-0001"; `annotations`: of each keyframe, of each object; `width`: of the pictures.
TableRows scene_rows(const SceneNumber& scene, std::string_view name, const Scene& world,
                     const std::vector<std::vector<Annotation>>& annotations, int width);

// The rows of all other tables.
TableRows shared_rows(uint64_t seed, size_t num_splits, int width);

// can_bus/<name>_pose.json of the CAN bus expansion: 50 messages a second.
std::string can_bus_poses(const SceneNumber& scene, const Scene& world, size_t num_keyframes);

// The file that the one row of `map` names: a mask on which all ground can be driven on.
std::string map_filename(uint64_t seed);

}  // namespace ffkit::nuscenes::demo
