// RayTarget: a box of the scene that rays of light are sent to. Immutable, thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <ffkit/nuscenes/geometry.h>

namespace ffkit::nuscenes::demo {

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

}  // namespace ffkit::nuscenes::demo
