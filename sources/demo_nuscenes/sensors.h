// What the sensors of the vehicle see of a scene: cameras and the lidar, by rays to its boxes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/geometry.h>

#include "converter/input/splitmix.h"
#include "demo_nuscenes/scene.h"

namespace ffkit::nuscenes::demo {

// RayTarget: a box of the scene that rays of light are sent to. Immutable, thread-safe.

enum class Face : uint8_t { back, front, right, left, bottom, top };

struct RayHit {
  double distance = 0;  // in lengths of the ray's direction
  Face face = Face::back;
  Vector3 place = {0, 0, 0};  // in the box: ahead, left, up; -1 .. 1 each
};

class RayTarget {
 public:
  // `box` stands upright: it is turned about z alone.
  explicit RayTarget(const Box& box) : centre_(box.center) {
    const double yaw = yaw_of(box.rotation);
    cos_ = std::cos(yaw);
    sin_ = std::sin(yaw);
    half_ = {box.size[1] / 2, box.size[0] / 2, box.size[2] / 2};
  }

  // Where the ray enters the box; false when it does not, or begins inside.
  bool meets(const Vector3& origin, const Vector3& direction, RayHit& hit) const {
    const Vector3 from =
        turned_back({origin[0] - centre_[0], origin[1] - centre_[1], origin[2] - centre_[2]});
    const Vector3 along = turned_back(direction);
    double enter = 0;
    double leave = std::numeric_limits<double>::infinity();
    size_t axis = 3;
    for (size_t i = 0; i < 3; ++i) {
      const double inverse = 1 / along[i];
      double first = (-half_[i] - from[i]) * inverse;
      double last = (half_[i] - from[i]) * inverse;
      if (first > last) std::swap(first, last);
      if (first > enter) {
        enter = first;
        axis = i;
      }
      leave = std::min(leave, last);
    }
    if (axis == 3 || enter > leave) return false;
    hit.distance = enter;
    hit.face = static_cast<Face>(2 * axis + (along[axis] < 0 ? 1 : 0));
    for (size_t i = 0; i < 3; ++i) hit.place[i] = (from[i] + enter * along[i]) / half_[i];
    return true;
  }

 private:
  // From the global axes to the box's.
  Vector3 turned_back(const Vector3& v) const {
    return {cos_ * v[0] + sin_ * v[1], cos_ * v[1] - sin_ * v[0], v[2]};
  }

  Vector3 centre_;
  Vector3 half_{};
  double cos_ = 1;
  double sin_ = 0;
};

// CameraPainter: what a camera sees of a scene: sky, grass, a road with lane marks, and boxes in
// the colours of their kinds. The side ahead of a box is the lightest, the one behind the darkest;
// windows, lamps and stripes tell them apart, too.
//
// One ray a pixel, through its middle. Keeps its memory from picture to picture; not thread-safe:
// one per thread.

// How many pixels of a picture show an object, and how many would if it stood alone.
struct SeenPixels {
  int64_t seen = 0;
  int64_t alone = 0;
};

class CameraPainter {
 public:
  // [height, width, 3] u8.
  CameraPainter(int width, int height);

  // Paints the scene as it is at `seconds`. `random` gives the noise. Adds to `pixels`, one for
  // each object, what is seen of it. The view lives until the next call.
  RgbView paint(const Scene& scene, double seconds, const Transform& camera_to_global,
                const Matrix3& intrinsics, SplitMix& random, std::vector<SeenPixels>& pixels);

 private:
  struct Rays;

  void find_nearest(const RayTarget& target, const Box& box, int number, const Rays& rays,
                    const Transform& camera_to_global, const Matrix3& intrinsics,
                    SeenPixels& pixels);
  Rect rectangle_of(const Box& box, const Transform& camera_to_global,
                    const Matrix3& intrinsics) const;

  int width_;
  int height_;
  std::vector<uint8_t> rgb_;
  // Of the nearest object of each pixel.
  std::vector<float> distances_;
  std::vector<int16_t> objects_;  // -1: none
};

// What the lidar of the vehicle measures of a scene. Pure functions: thread-safe.

// [n, 5] f32 in the lidar's frame: x, y, z, intensity 0 .. 255, ring 0 .. 31. Some hundred points:
// on the ground up to 30 m away, and on the faces of objects up to 50 m away that nothing hides.
// Points of objects lie 2 cm below the face, inside.
std::vector<float> scan(const Scene& scene, double seconds, const Transform& lidar_to_global);

// How many of the points lie in the box, which is in the lidar's frame.
int64_t count_points(const std::vector<float>& points, const Box& box_in_lidar);

}  // namespace ffkit::nuscenes::demo
