// The made-up world of a scene: a vehicle that drives along a road, and objects around it that
// drive, walk or stand. All motion is a formula of time, so that every sensor can ask for its own
// moment. Plain values and pure functions: thread-safe.
//
//   global frame: x and y on the ground, z up, z = 0 on the ground. Metres, seconds since the
//     scene's first keyframe, radians.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/nuscenes/geometry.h>

namespace ffkit::nuscenes::demo {

using Colour = std::array<double, 3>;  // red, green, blue, 0 .. 255

inline constexpr double kSecondsBetweenKeyframes = 0.5;

// What the sides of a kind look like.
enum class Look : uint8_t { vehicle, cycle, walker, cone, barrier };

// Seven of the ten classes of detection. Each has a colour of its own.
struct ObjectKind {
  std::string_view category;  // of nuScenes' table
  Look look;
  Vector3 size;  // width, length, height; one object's differs by up to a tenth
  Colour colour;
  double share;             // of all objects
  double moving_share = 0;  // of the kind's objects
  double min_speed = 0;     // m/s, of those that move
  double max_speed = 0;
  std::string_view moving_attribute = {};  // empty: none
  std::string_view standing_attribute = {};
};
std::span<const ObjectKind> object_kinds();

// The vehicle's way: constant speed, straight or along a circle. The road follows it.
class EgoPath {
 public:
  // Through (x, y) at time 0. `curvature` in 1/m, above 0 to the left.
  EgoPath(double x, double y, double yaw, double speed, double curvature);

  // ego_to_global.
  Pose pose_at(double seconds) const;
  double yaw_at(double seconds) const { return yaw_ + speed_ * curvature_ * seconds; }
  double speed() const { return speed_; }
  double turn_rate() const { return speed_ * curvature_; }  // radians per second
  // Metres to the left of the vehicle's way, and along it from where it is at time 0.
  double lateral(double x, double y) const;
  double along(double x, double y) const;

 private:
  double x_, y_, yaw_, speed_, curvature_;
  double cos_, sin_;
  double centre_x_ = 0, centre_y_ = 0;  // of the circle
};

struct Object {
  size_t kind = 0;  // of object_kinds()
  Vector3 size = {0, 0, 0};
  Colour colour = {0, 0, 0};
  double x = 0, y = 0;  // of the middle, at time 0
  double yaw = 0;
  double speed = 0;  // ahead; 0: stands

  Box box_at(double seconds) const;  // in the global frame; its velocity is set
  std::string_view attribute() const;
};

// At most so many objects in a scene.
inline constexpr size_t kMaxObjects = 9;

struct Scene {
  EgoPath path;
  std::vector<Object> objects;  // 5 .. kMaxObjects
};

// Scene `number` of the set that `seed` gives, which lasts `seconds`. No object ever touches
// another one or the vehicle.
Scene draw_scene(uint64_t seed, uint64_t number, double seconds);

}  // namespace ffkit::nuscenes::demo
