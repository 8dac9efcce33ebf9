#include "demo_nuscenes/sensors.h"

#include <array>
#include <numbers>

namespace ffkit::nuscenes::demo {
namespace {

constexpr Colour kGrass = {92, 142, 74};
constexpr Colour kAsphalt = {92, 92, 96};
constexpr Colour kPavement = {160, 158, 150};
constexpr Colour kLaneMark = {232, 232, 226};
constexpr Colour kHaze = {206, 216, 226};
constexpr Colour kZenith = {112, 160, 214};
constexpr Colour kGlass = {34, 38, 48};
constexpr Colour kTyre = {26, 26, 28};
constexpr Colour kHeadlamp = {255, 250, 215};
constexpr Colour kTaillamp = {205, 16, 20};
constexpr Colour kSkin = {232, 190, 160};
constexpr Colour kHair = {62, 44, 34};
constexpr Colour kWhite = {240, 240, 238};

Colour mixed(const Colour& a, const Colour& b, double share_of_b) {
  Colour colour;
  for (size_t i = 0; i < 3; ++i) colour[i] = a[i] + share_of_b * (b[i] - a[i]);
  return colour;
}

// -1 .. 1, the same for a piece of ground in every picture of it.
double roughness(double x, double y, double pieces_per_metre) {
  // Of numbers above 0, which casts round down, as std::floor() does more slowly.
  constexpr double kShift = 1 << 20;
  const auto column = static_cast<int64_t>(x * pieces_per_metre + kShift);
  const auto row = static_cast<int64_t>(y * pieces_per_metre + kShift);
  auto hash = static_cast<uint64_t>(column) * 0x9E3779B97F4A7C15 +
              static_cast<uint64_t>(row) * 0xC2B2AE3D27D4EB4F;
  hash = (hash ^ (hash >> 29)) * 0xBF58476D1CE4E5B9;
  return static_cast<double>(hash >> 40) * 0x1p-23 - 1;
}

Colour ground_colour(const EgoPath& path, double x, double y) {
  // The vehicle keeps to the right one of two lanes.
  constexpr double kBetweenLanes = 1.75;
  constexpr double kRightEdge = -1.8;
  constexpr double kLeftEdge = 5.3;
  constexpr double kShoulder = 0.4;
  constexpr double kPavementWidth = 2;
  constexpr double kHalfMark = 0.09;
  constexpr double kDashPeriod = 6;
  const double lateral = path.lateral(x, y);
  if (lateral < kRightEdge - kShoulder - kPavementWidth ||
      lateral > kLeftEdge + kShoulder + kPavementWidth) {
    return mixed(kGrass, {70, 112, 52}, 0.5 + 0.5 * roughness(x, y, 3));
  }
  if (lateral < kRightEdge - kShoulder || lateral > kLeftEdge + kShoulder) {
    return mixed(kPavement, {140, 138, 130}, 0.5 + 0.5 * roughness(x, y, 2));
  }
  const bool is_edge =
      std::abs(lateral - kRightEdge) < kHalfMark || std::abs(lateral - kLeftEdge) < kHalfMark;
  if (is_edge) return kLaneMark;
  if (std::abs(lateral - kBetweenLanes) < kHalfMark) {
    const double along = path.along(x, y) / kDashPeriod;
    if (along - std::floor(along) < 0.5) return kLaneMark;
  }
  return mixed(kAsphalt, {80, 80, 84}, 0.5 + 0.5 * roughness(x, y, 5));
}

Colour backdrop_colour(const EgoPath& path, const Vector3& origin, const Vector3& direction) {
  if (direction[2] >= 0) return mixed(kHaze, kZenith, std::min(2.5 * direction[2], 1.0));
  constexpr double kHazeDistance = 160;
  const double steps = -origin[2] / direction[2];
  if (steps >= kHazeDistance) return kHaze;
  const Colour ground =
      ground_colour(path, origin[0] + steps * direction[0], origin[1] + steps * direction[1]);
  return mixed(ground, kHaze, steps / kHazeDistance);
}

double light_on(Face face) {
  constexpr std::array<double, 6> kLight = {0.55, 1.2, 0.85, 0.85, 0.4, 1.05};
  return kLight[static_cast<size_t>(face)];
}

bool is_side(Face face) {
  return face == Face::left || face == Face::right;
}

// The colour of the paint, before light falls on it; or, with `is_lamp`, of what shines by itself.
// `at` is RayHit::place.
Colour paint_colour(const Object& object, Face face, const Vector3& at, bool& is_lamp) {
  const double across = std::abs(at[1]);
  const double up = at[2];
  switch (object_kinds()[object.kind].look) {
    case Look::vehicle:
      if (face == Face::top || face == Face::bottom) break;
      if (is_side(face)) {
        if (up > 0.4 && up < 0.85 && at[0] > -0.55 && at[0] < 0.8) return kGlass;
        if (up < -0.62 && std::abs(std::abs(at[0]) - 0.62) < 0.14) return kTyre;
        break;
      }
      if (up > 0.4 && up < 0.85 && across < 0.85) return kGlass;
      if (up > -0.55 && up < -0.25 && across > 0.55 && across < 0.9) {
        is_lamp = true;
        return face == Face::front ? kHeadlamp : kTaillamp;
      }
      break;
    case Look::cycle:
      if (is_side(face) && up < -0.1 && std::abs(at[0]) > 0.35) return kTyre;
      if (!is_side(face) && up > 0.5 && across < 0.5) {
        is_lamp = true;
        return face == Face::front ? kHeadlamp : kTaillamp;
      }
      break;
    case Look::walker:
      if (up > 0.7) return face == Face::front ? kSkin : kHair;
      if (up < -0.5) return {50, 52, 70};
      break;
    case Look::cone:
      if (up > 0.35 && up < 0.65) return kWhite;
      break;
    case Look::barrier:
      if (!is_side(face) && across > 0.5 && across < 0.8) return kWhite;
      break;
  }
  return object.colour;
}

Colour object_colour(const Object& object, const RayHit& hit) {
  bool is_lamp = false;
  Colour colour = paint_colour(object, hit.face, hit.place, is_lamp);
  if (is_lamp) return colour;
  for (double& channel : colour) channel *= light_on(hit.face);
  return colour;
}

}  // namespace

// The ray of the pixel in column u and row v is first + u * right + v * down. Its depth before the
// camera is the number of its lengths.
struct CameraPainter::Rays {
  Rays(const Transform& camera_to_global, const Matrix3& intrinsics)
      : origin(camera_to_global.translation) {
    const Matrix3& turn = camera_to_global.rotation;
    const auto turned = [&turn](double x, double y, double z) {
      return multiply(turn, Vector3{x, y, z});
    };
    first = turned((0.5 - intrinsics[2]) / intrinsics[0], (0.5 - intrinsics[5]) / intrinsics[4], 1);
    right = turned(1 / intrinsics[0], 0, 0);
    down = turned(0, 1 / intrinsics[4], 0);
  }

  Vector3 direction(int u, int v) const {
    Vector3 sum;
    for (size_t i = 0; i < 3; ++i) sum[i] = first[i] + u * right[i] + v * down[i];
    return sum;
  }

  Vector3 origin;
  Vector3 first{}, right{}, down{};
};

CameraPainter::CameraPainter(int width, int height)
    : width_(width),
      height_(height),
      rgb_(size_t(width) * height * 3),
      distances_(size_t(width) * height),
      objects_(size_t(width) * height) {}

RgbView CameraPainter::paint(const Scene& scene, double seconds, const Transform& camera_to_global,
                             const Matrix3& intrinsics, SplitMix& random,
                             std::vector<SeenPixels>& pixels) {
  const Rays rays(camera_to_global, intrinsics);
  std::ranges::fill(distances_, std::numeric_limits<float>::infinity());
  std::ranges::fill(objects_, int16_t{-1});
  std::vector<RayTarget> targets;
  for (size_t i = 0; i < scene.objects.size(); ++i) {
    const Box box = scene.objects[i].box_at(seconds);
    targets.emplace_back(box);
    find_nearest(targets.back(), box, static_cast<int>(i), rays, camera_to_global, intrinsics,
                 pixels[i]);
  }
  uint8_t* out = rgb_.data();
  for (int v = 0; v < height_; ++v) {
    for (int u = 0; u < width_; ++u) {
      const Vector3 direction = rays.direction(u, v);
      const int number = objects_[size_t(v) * width_ + u];
      Colour colour;
      RayHit hit;
      if (number >= 0 && targets[number].meets(rays.origin, direction, hit)) {
        ++pixels[number].seen;
        colour = object_colour(scene.objects[number], hit);
      } else {
        colour = backdrop_colour(scene.path, rays.origin, direction);
      }
      const uint64_t bits = random.next();
      for (size_t i = 0; i < 3; ++i) {
        // Two bytes make a triangular distribution: near enough to a camera's noise.
        constexpr double kNoise = 6.0 / 255;
        const auto sum =
            static_cast<int>(((bits >> (16 * i)) & 255) + ((bits >> (16 * i + 8)) & 255));
        const double noise = kNoise * (sum - 255);
        *out++ = static_cast<uint8_t>(std::clamp(colour[i] + noise + 0.5, 0.0, 255.0));
      }
    }
  }
  return {.data = rgb_.data(), .width = width_, .height = height_, .stride = ptrdiff_t(width_) * 3};
}

void CameraPainter::find_nearest(const RayTarget& target, const Box& box, int number,
                                 const Rays& rays, const Transform& camera_to_global,
                                 const Matrix3& intrinsics, SeenPixels& pixels) {
  const Rect region = rectangle_of(box, camera_to_global, intrinsics);
  for (int v = region.y; v < region.y + region.height; ++v) {
    for (int u = region.x; u < region.x + region.width; ++u) {
      RayHit hit;
      if (!target.meets(rays.origin, rays.direction(u, v), hit)) continue;
      ++pixels.alone;
      const size_t pixel = size_t(v) * width_ + u;
      const auto distance = static_cast<float>(hit.distance);
      if (distance >= distances_[pixel]) continue;
      distances_[pixel] = distance;
      objects_[pixel] = static_cast<int16_t>(number);
    }
  }
}

// The pixels that may show the box: none of one behind the camera, all of one that reaches behind
// it.
Rect CameraPainter::rectangle_of(const Box& box, const Transform& camera_to_global,
                                 const Matrix3& intrinsics) const {
  constexpr double kNear = 0.1;
  const Transform global_to_camera = inverse(camera_to_global);
  double left = width_;
  double right = 0;
  double top = height_;
  double bottom = 0;
  size_t num_behind = 0;
  for (const Vector3& corner : corners(box)) {
    const Projection at = project(intrinsics, global_to_camera(corner));
    if (at.depth < kNear) {
      ++num_behind;
      continue;
    }
    left = std::min(left, std::floor(at.x));
    right = std::max(right, std::ceil(at.x));
    top = std::min(top, std::floor(at.y));
    bottom = std::max(bottom, std::ceil(at.y));
  }
  if (num_behind == 8) return {};
  if (num_behind > 0) return {.x = 0, .y = 0, .width = width_, .height = height_};
  left = std::max(left, 0.0);
  top = std::max(top, 0.0);
  right = std::min(right, double(width_));
  bottom = std::min(bottom, double(height_));
  if (left >= right || top >= bottom) return {};
  return {.x = int(left), .y = int(top), .width = int(right - left), .height = int(bottom - top)};
}

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
