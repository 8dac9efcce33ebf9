// Augmentation of a scene seen from above: points and boxes of a keyframe turned, scaled and
// mirrored about the lidar, all alike.
//
//   p' = flip * scale * rotation * p
//
// This is what GlobalRotScaleTrans and RandomFlip3D of mmdetection3d do, in this order. It changes
// the lidar's frame, so matrices from this frame to the cameras undo it first. Pure functions:
// thread-safe.
#pragma once

#include <array>

#include <ffkit/image/random.h>
#include <ffkit/nuscenes/geometry.h>

namespace ffkit::nuscenes {

struct BevAugmentation {
  double rotation_min = 0;  // radians about z, from x to y, min <= max
  double rotation_max = 0;
  double scale_min = 1;  // 0 < min <= max
  double scale_max = 1;
  double flip_x_probability = 0;  // x becomes -x
  double flip_y_probability = 0;  // y becomes -y
};

// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const BevAugmentation& augmentation);

struct DrawnBev {
  double rotation = 0;
  double scale = 1;
  bool flip_x = false;
  bool flip_y = false;

  // Moves points.
  [[nodiscard]] Transform matrix() const;
  // The way back.
  [[nodiscard]] Transform inverse_matrix() const;
  // centre, size l w h, yaw, velocity x y: the centre moved, the size scaled, yaw and velocity
  // turned, the velocity scaled too.
  [[nodiscard]] std::array<float, 9> operator()(const std::array<float, 9>& box) const;
};

// What a sample with this key gets, in all its fields.
DrawnBev draw(const BevAugmentation& augmentation, const SampleKey& key);

}  // namespace ffkit::nuscenes
