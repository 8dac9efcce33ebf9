#include "demo_nuscenes/lidar_scanner.h"

#include <array>
#include <cmath>
#include <numbers>

#include "demo_nuscenes/ray_target.h"

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

// From above: whether the beam passes the circle around the box, with room for the lean of the
// lidar.
bool may_meet(const Box& box, const Vector3& origin, const Vector3& beam) {
  constexpr double kRoom = 1;
  const double x = box.center[0] - origin[0];
  const double y = box.center[1] - origin[1];
  const double radius = std::hypot(box.size[0], box.size[1]) / 2 + kRoom;
  return x * beam[0] + y * beam[1] > -radius &&
         std::abs(x * beam[1] - y * beam[0]) < radius * std::hypot(beam[0], beam[1]);
}

void append(const Echo& echo, double intensity, std::vector<float>& points) {
  for (const double number : echo.place) points.push_back(static_cast<float>(number));
  points.push_back(static_cast<float>(intensity));
  points.push_back(static_cast<float>(echo.ring));
}

}  // namespace

std::vector<float> scan(const Scene& scene, double seconds, const Transform& lidar_to_global) {
  std::vector<Box> boxes;
  for (const Object& object : scene.objects) boxes.push_back(object.box_at(seconds));
  const std::vector<RayTarget> targets(boxes.begin(), boxes.end());
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
    // Of the objects that some beam of this direction may meet.
    const Vector3 level_beam = multiply(lidar_to_global.rotation, Vector3{to_right, ahead, 0});
    std::vector<size_t> candidates;
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (may_meet(boxes[i], origin, level_beam)) candidates.push_back(i);
    }
    for (int ring = 0; ring < kRings; ++ring) {
      const double slope = slopes[static_cast<size_t>(ring)];
      const double level = std::sqrt(1 - slope * slope);
      const Vector3 beam = {level * to_right, level * ahead, slope};
      const Vector3 direction = multiply(lidar_to_global.rotation, beam);
      double nearest = kObjectRange;
      size_t object = targets.size();
      for (const size_t i : candidates) {
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
