#include "demo_nuscenes/scene.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "converter/input/splitmix.h"

namespace ffkit::nuscenes::demo {
namespace {

constexpr double kPi = std::numbers::pi;

constexpr ObjectKind vehicle_kind(std::string_view category, const Vector3& size,
                                  const Colour& colour, double share, double moving_share,
                                  double max_speed) {
  return {.category = category,
          .look = Look::vehicle,
          .size = size,
          .colour = colour,
          .share = share,
          .moving_share = moving_share,
          .min_speed = 2,
          .max_speed = max_speed,
          .moving_attribute = "vehicle.moving",
          .standing_attribute = "vehicle.parked"};
}

// Sizes are typical of nuScenes' classes. Road, grass and sky have other colours.
constexpr std::array kObjectKinds = {
    vehicle_kind("vehicle.car", {1.9, 4.6, 1.7}, {45, 95, 215}, 0.30, 0.5, 8),
    vehicle_kind("vehicle.truck", {2.5, 6.9, 2.8}, {235, 130, 30}, 0.12, 0.4, 6),
    vehicle_kind("vehicle.bus.rigid", {2.9, 11.0, 3.5}, {240, 215, 40}, 0.08, 0.5, 6),
    ObjectKind{.category = "human.pedestrian.adult",
               .look = Look::walker,
               .size = {0.7, 0.7, 1.75},
               .colour = {220, 60, 165},
               .share = 0.20,
               .moving_share = 0.6,
               .min_speed = 0.6,
               .max_speed = 1.8,
               .moving_attribute = "pedestrian.moving",
               .standing_attribute = "pedestrian.standing"},
    ObjectKind{.category = "vehicle.motorcycle",
               .look = Look::cycle,
               .size = {0.8, 2.1, 1.5},
               .colour = {40, 205, 205},
               .share = 0.10,
               .moving_share = 0.6,
               .min_speed = 2,
               .max_speed = 8,
               .moving_attribute = "cycle.with_rider",
               .standing_attribute = "cycle.without_rider"},
    ObjectKind{.category = "movable_object.trafficcone",
               .look = Look::cone,
               .size = {0.4, 0.4, 1.05},
               .colour = {230, 45, 35},
               .share = 0.10},
    ObjectKind{.category = "movable_object.barrier",
               .look = Look::barrier,
               .size = {2.5, 0.5, 1.0},
               .colour = {140, 60, 190},
               .share = 0.10},
};

size_t draw_kind(SplitMix& random) {
  double rest = random.uniform(0, 1);
  for (size_t i = 0; i + 1 < kObjectKinds.size(); ++i) {
    rest -= kObjectKinds[i].share;
    if (rest < 0) return i;
  }
  return kObjectKinds.size() - 1;
}

EgoPath draw_path(SplitMix& random) {
  const double x = random.uniform(200, 1800);
  const double y = random.uniform(200, 1800);
  const double yaw = random.uniform(-kPi, kPi);
  const double speed = random.uniform(1.5, 6);
  const double radius = random.uniform(35, 90);
  const double turn = random.uniform(-1, 1);  // half of the roads are straight
  double curvature = 0;
  if (turn > 0.5) curvature = 1 / radius;
  if (turn < -0.5) curvature = -1 / radius;
  return {x, y, yaw, speed, curvature};
}

// What an object is; place_object() says where.
Object draw_object(SplitMix& random) {
  Object object{.kind = draw_kind(random)};
  const ObjectKind& kind = kObjectKinds[object.kind];
  for (size_t i = 0; i < 3; ++i) object.size[i] = kind.size[i] * random.uniform(0.9, 1.1);
  const double light = random.uniform(0.85, 1.1);
  for (size_t i = 0; i < 3; ++i) {
    object.colour[i] = std::clamp(kind.colour[i] * light + random.uniform(-12, 12), 0.0, 255.0);
  }
  const bool is_moving = random.uniform(0, 1) < kind.moving_share;
  const double speed = random.uniform(kind.min_speed, kind.max_speed);
  object.speed = is_moving ? speed : 0;
  return object;
}

void place_object(const EgoPath& path, double seconds, SplitMix& random, Object& object) {
  // Around the place where the vehicle is at some time of the scene, nearer ones more often by
  // area.
  const double time = random.uniform(0, seconds);
  const Pose ego = path.pose_at(time);
  const double distance = random.uniform(4, 27);
  const double bearing = random.uniform(-kPi, kPi);
  // Half of all look along the road, a quarter against it, the others anywhere.
  const double way = random.uniform(0, 1);
  object.yaw = path.yaw_at(time) + random.uniform(-0.15, 0.15);
  if (way >= 0.5) object.yaw += way < 0.75 ? kPi : random.uniform(-kPi, kPi);
  object.yaw = std::remainder(object.yaw, 2 * kPi);
  object.x = ego.translation[0] + distance * std::cos(bearing) -
             time * object.speed * std::cos(object.yaw);
  object.y = ego.translation[1] + distance * std::sin(bearing) -
             time * object.speed * std::sin(object.yaw);
}

// Circles around the footprints: of the vehicle, of a box.
constexpr double kEgoRadius = 2.6;
double radius_of(const Object& object) {
  return std::hypot(object.size[0], object.size[1]) / 2;
}

bool is_free(const Scene& scene, double seconds, const Object& object) {
  constexpr double kStep = 0.1;
  constexpr double kGap = 0.4;
  // Cameras look a little before the first keyframe.
  for (double time = -kStep; time <= seconds + kStep; time += kStep) {
    const Vector3 centre = object.box_at(time).center;
    const auto is_near = [&](const Vector3& other, double radius) {
      return std::hypot(centre[0] - other[0], centre[1] - other[1]) <
             radius_of(object) + radius + kGap;
    };
    if (is_near(scene.path.pose_at(time).translation, kEgoRadius)) return false;
    for (const Object& other : scene.objects) {
      if (is_near(other.box_at(time).center, radius_of(other))) return false;
    }
  }
  return true;
}

}  // namespace

std::span<const ObjectKind> object_kinds() {
  return kObjectKinds;
}

EgoPath::EgoPath(double x, double y, double yaw, double speed, double curvature)
    : x_(x),
      y_(y),
      yaw_(yaw),
      speed_(speed),
      curvature_(curvature),
      cos_(std::cos(yaw)),
      sin_(std::sin(yaw)) {
  if (curvature_ == 0) return;
  centre_x_ = x_ - sin_ / curvature_;
  centre_y_ = y_ + cos_ / curvature_;
}

Pose EgoPath::pose_at(double seconds) const {
  const double yaw = yaw_at(seconds);
  const Quaternion rotation = {std::cos(yaw / 2), 0, 0, std::sin(yaw / 2)};
  if (curvature_ == 0) {
    return {{x_ + speed_ * seconds * cos_, y_ + speed_ * seconds * sin_, 0}, rotation};
  }
  return {{centre_x_ + std::sin(yaw) / curvature_, centre_y_ - std::cos(yaw) / curvature_, 0},
          rotation};
}

double EgoPath::lateral(double x, double y) const {
  if (curvature_ == 0) return cos_ * (y - y_) - sin_ * (x - x_);
  const double dx = x - centre_x_;
  const double dy = y - centre_y_;
  return 1 / curvature_ - std::copysign(std::sqrt(dx * dx + dy * dy), curvature_);
}

double EgoPath::along(double x, double y) const {
  if (curvature_ == 0) return cos_ * (x - x_) + sin_ * (y - y_);
  const double turn = curvature_ > 0 ? 1 : -1;
  const double dx = turn * (x - centre_x_);
  const double dy = turn * (y - centre_y_);
  // The angle from where the vehicle is at time 0, as seen from the centre.
  return std::atan2(cos_ * dx + sin_ * dy, sin_ * dx - cos_ * dy) / curvature_;
}

Box Object::box_at(double seconds) const {
  const double cos = std::cos(yaw);
  const double sin = std::sin(yaw);
  return {.center = {x + seconds * speed * cos, y + seconds * speed * sin, size[2] / 2},
          .size = size,
          .rotation = {std::cos(yaw / 2), 0, 0, std::sin(yaw / 2)},
          .velocity = {speed * cos, speed * sin, 0}};
}

std::string_view Object::attribute() const {
  const ObjectKind& of = kObjectKinds[kind];
  return speed > 0 ? of.moving_attribute : of.standing_attribute;
}

Scene draw_scene(uint64_t seed, uint64_t number, double seconds) {
  // Hashed, since nearby states of SplitMix give overlapping sequences.
  SplitMix random(SplitMix(seed).next() ^ SplitMix(number).next());
  Scene scene{.path = draw_path(random), .objects = {}};
  constexpr size_t kMinObjects = 5;
  const size_t wanted = kMinObjects + random.below(kMaxObjects - kMinObjects + 1);
  while (scene.objects.size() < wanted) {
    // An object for which there is no room gives way to another one.
    constexpr int kTries = 50;
    Object object = draw_object(random);
    for (int i = 0; i < kTries; ++i) {
      place_object(scene.path, seconds, random, object);
      if (!is_free(scene, seconds, object)) continue;
      scene.objects.push_back(object);
      break;
    }
  }
  return scene;
}

}  // namespace ffkit::nuscenes::demo
