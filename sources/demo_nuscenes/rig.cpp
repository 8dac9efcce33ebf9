#include "demo_nuscenes/rig.h"

#include <cmath>
#include <numbers>

#include <ffkit/nuscenes/classes.h>

#include "base/enum_names.h"

namespace ffkit::nuscenes::demo {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kNuScenesWidth = 1600;

Quaternion turned_about_z(double degrees) {
  return {std::cos(degrees * kDegree / 2), 0, 0, std::sin(degrees * kDegree / 2)};
}

Sensor camera(size_t number, double degrees, const Vector3& place, double focal_length,
              int64_t delay_us) {
  // Of a camera that looks ahead: its z is the vehicle's x, its x the vehicle's -y.
  constexpr Quaternion kAhead = {0.5, -0.5, 0.5, -0.5};
  return {.channel = kCameras.at(number),
          .modality = Modality::camera,
          .to_ego = {place, turned_about_z(degrees) * kAhead},
          .focal_length = focal_length,
          .delay_us = delay_us};
}

Sensor radar(size_t number, double degrees, const Vector3& place) {
  return {.channel = kRadars.at(number),
          .modality = Modality::radar,
          .to_ego = {place, turned_about_z(degrees)}};
}

// The lidar leans by a degree, as real ones do: then its frame is not the vehicle's turned about z.
Sensor lidar() {
  const Quaternion lean = {std::cos(kDegree / 2), std::sin(kDegree / 2), 0, 0};
  return {.channel = kLidar,
          .modality = Modality::lidar,
          .to_ego = {{0.94, 0, 1.84}, turned_about_z(-90) * lean}};
}

}  // namespace

constexpr EnumName<Modality> kModalityNames[] = {
    {Modality::camera, "camera"}, {Modality::lidar, "lidar"}, {Modality::radar, "radar"}};
std::string_view to_string(Modality modality) {
  return name_of(kModalityNames, modality);
}

// The cameras look one after another while the lidar turns, which is done at the keyframe.
const std::array<Sensor, kNumSensors>& sensors() {
  static const std::array<Sensor, kNumSensors> all = {
      camera(0, 0, {1.70, 0, 1.51}, 1266, -35'000),
      camera(1, -55, {1.55, -0.49, 1.50}, 1266, -28'000),
      camera(2, 55, {1.52, 0.49, 1.51}, 1266, -43'000),
      camera(3, 180, {0.03, 0, 1.57}, 809, -10'000),
      camera(4, 110, {1.04, 0.48, 1.59}, 1266, -1'000),
      camera(5, -110, {1.02, -0.48, 1.56}, 1266, -20'000),
      lidar(),
      radar(0, 0, {3.4, 0, 0.5}),
      radar(1, 90, {2.4, 0.8, 0.8}),
      radar(2, -90, {2.4, -0.8, 0.8}),
      radar(3, 180, {-0.6, 0.6, 0.5}),
      radar(4, 180, {-0.6, -0.6, 0.5})};
  return all;
}

Matrix3 intrinsics_of(const Sensor& camera, int width) {
  constexpr double kCentreX = 808;
  constexpr double kCentreY = 468;
  const double scale = width / kNuScenesWidth;
  const double focal = camera.focal_length * scale;
  return {focal, 0, kCentreX * scale, 0, focal, kCentreY * scale, 0, 0, 1};
}

}  // namespace ffkit::nuscenes::demo
