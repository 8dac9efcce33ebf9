#include "sources/demo_nuscenes/lidar_scanner.h"

#include <array>
#include <cmath>
#include <numbers>

#include "sources/demo_nuscenes/ray_target.h"

namespace ffkit::nuscenes::demo {
namespace {

constexpr size_t kColumns = 5;
constexpr double kRadian = std::numbers::pi / 180;
// The beams of nuScenes' lidar lean from 30.67 degrees down to 10.67 up.
constexpr int kRings = 32;
constexpr double kLowestRing = -30.67;
constexpr double kRingStep = 4.0 / 3;
constexpr int kTurns = 720;  // directions in a turn
constexpr double kObjectRange = 50;
constexpr double kGroundRange = 30;
constexpr double kPointsBelowFace = 0.02;
// Thinned out: of the ground each so many, of an object about so many at most.
constexpr size_t kGroundStride = 25;
constexpr size_t kMaxPointsOfObject = 60;

// What a beam meets, in order of the beams.
struct Echo {
  Vector3 place;  // in the lidar's frame
  int ring;
};

void append(const Echo& echo, double intensity, std::vector<float>& points) {
  for (const double number : echo.place) points.push_back(static_cast<float>(number));
  points.push_back(static_cast<float>(intensity));
  points.push_back(static_cast<float>(echo.ring));
}

}  // namespace

std::vector<float> scan(const Scene& scene, double seconds, const Transform& lidar_to_global) {
  std::vector<RayTarget> targets;
  for (const Object& object : scene.objects) targets.emplace_back(object.box_at(seconds));
  std::vector<std::vector<Echo>> of_object(targets.size());
  std::vector<Echo> of_ground;
  const Vector3& origin = lidar_to_global.translation;
  std::array<double, kRings> slopes{};
  for (int ring = 0; ring < kRings; ++ring) {
    slopes[static_cast<size_t>(ring)] = std::sin((kLowestRing + kRingStep * ring) * kRadian);
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    const double azimuth = 360.0 / kTurns * turn * kRadian;
    const double to_right = std::sin(azimuth);
    const double ahead = std::cos(azimuth);
    for (int ring = 0; ring < kRings; ++ring) {
      const double slope = slopes[static_cast<size_t>(ring)];
      const double level = std::sqrt(1 - slope * slope);
      const Vector3 beam = {level * to_right, level * ahead, slope};
      const Vector3 direction = multiply(lidar_to_global.rotation, beam);
      double nearest = kObjectRange;
      size_t object = targets.size();
      for (size_t i = 0; i < targets.size(); ++i) {
        RayHit hit;
        if (!targets[i].meets(origin, direction, hit) || hit.distance >= nearest) continue;
        nearest = hit.distance;
        object = i;
      }
      const auto echo_at = [&](double distance) {
        return Echo{{beam[0] * distance, beam[1] * distance, beam[2] * distance}, ring};
      };
      if (object < targets.size()) {
        of_object[object].push_back(echo_at(nearest + kPointsBelowFace));
      } else if (direction[2] < 0 && -origin[2] / direction[2] < kGroundRange) {
        of_ground.push_back(echo_at(-origin[2] / direction[2]));
      }
    }
  }
  std::vector<float> points;
  constexpr double kGroundIntensity = 12;
  for (size_t i = 0; i < of_ground.size(); i += kGroundStride) {
    append(of_ground[i], kGroundIntensity, points);
  }
  for (const std::vector<Echo>& echoes : of_object) {
    constexpr double kObjectIntensity = 60;
    const size_t stride = echoes.size() / kMaxPointsOfObject + 1;
    for (size_t i = 0; i < echoes.size(); i += stride) append(echoes[i], kObjectIntensity, points);
  }
  return points;
}

int64_t count_points(const std::vector<float>& points, const Box& box_in_lidar) {
  const BoxInterior interior(box_in_lidar);
  int64_t count = 0;
  for (size_t i = 0; i < points.size(); i += kColumns) {
    count += interior.contains({points[i], points[i + 1], points[i + 2]}) ? 1 : 0;
  }
  return count;
}

}  // namespace ffkit::nuscenes::demo
