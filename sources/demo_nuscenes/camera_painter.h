// CameraPainter: what a camera sees of a scene: sky, grass, a road with lane marks, and boxes in
// the colours of their kinds. The side ahead of a box is the lightest, the one behind the darkest;
// windows, lamps and stripes tell them apart, too.
//
// One ray a pixel, through its middle. Keeps its memory from picture to picture; not thread-safe:
// one per thread.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/geometry.h>

#include "converter/input/splitmix.h"
#include "demo_nuscenes/ray_target.h"
#include "demo_nuscenes/scene.h"

namespace ffkit::nuscenes::demo {

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

}  // namespace ffkit::nuscenes::demo
