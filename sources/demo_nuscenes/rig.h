// The sensors of the made-up vehicle: places, axes and pictures like those of nuScenes' vehicles.
// Constants, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <ffkit/nuscenes/geometry.h>

namespace ffkit::nuscenes::demo {

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

}  // namespace ffkit::nuscenes::demo
