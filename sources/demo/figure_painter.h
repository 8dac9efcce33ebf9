// Articulated figures before a made-up camera: what --kind pose paints.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ffkit/pose/geometry.h>

#include "converter/input/splitmix.h"

namespace ffkit {

inline constexpr size_t kFigureJoints = 17;  // MuPoTS' joints
inline constexpr size_t kFigureRoot = 14;    // the pelvis

struct Figure {
  pose::Camera camera;
  // Before the camera, mm: x to the right, y down, z away from it.
  std::array<pose::Point3, kFigureJoints> joints = {};
  pose::Box box;  // of what is painted, within the picture, pixels
};

// A person of 1.5 to 1.9 m, 2.5 to 7 m away, in a pose of its own, of which the pelvis is in a
// picture of size x size pixels.
Figure draw_figure(int64_t size, SplitMix& random);
// [size, size, 3] RGB, before a background that tells nothing of the person.
std::vector<uint8_t> paint_figure(const Figure& figure, int64_t size, SplitMix& random);

}  // namespace ffkit
