// Geometry steps for Compose, beside crops and resizes. Plain options with the names and parameters
// of torchvision.transforms.v2. Pixels equal its results for PIL images exactly.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_resizer.h>

namespace ffkit {

// ViewMatrix: maps the pixels of a picture to a view of it.

// 3 x 3, row by row. A point (x, y) of the stored picture becomes (u / w, v / w) in the view, with
// (u, v, w) = matrix * (x, y, 1). (0, 0) is the top left corner of the top left pixel. Points
// outside of the view are mapped, too.
using ViewMatrix = std::array<double, 9>;

// Left, top, right, bottom in pixels; (0, 0) as for a ViewMatrix.
using BoxEdges = std::array<double, 4>;

// Whether the edges are finite and the box has an area. The converter and the loader leave out
// other boxes.
inline bool has_area(const BoxEdges& box) {
  for (const double edge : box) {
    if (!std::isfinite(edge)) return false;
  }
  return box[2] > box[0] && box[3] > box[1];
}

// Pixels added at each side. One number means all four sides.
struct Padding {
  constexpr Padding(int64_t all) : left(all), top(all), right(all), bottom(all) {}
  constexpr Padding(int64_t l, int64_t t, int64_t r, int64_t b)
      : left(l), top(t), right(r), bottom(b) {}
  bool operator==(const Padding&) const = default;

  int64_t left;
  int64_t top;
  int64_t right;
  int64_t bottom;
};

// An angle is drawn uniformly from [min, max], in degrees, -360 <= min <= max <= 360. One number s
// means [-s, s].
struct DegreeRange {
  constexpr DegreeRange(double strength) : min(-strength), max(strength) {}
  constexpr DegreeRange(double low, double high) : min(low), max(high) {}

  double min;
  double max;
};

// The filter of rotations and perspectives: the nearest pixel, 2 x 2, or 4 x 4 pixels. Pillow's
// NEAREST, BILINEAR and BICUBIC of Image.transform().
enum class WarpFilter { nearest, bilinear, bicubic };
template <>
inline constexpr auto kNames<WarpFilter> =
    enum_names<WarpFilter>("filter", {{WarpFilter::nearest, "nearest"},
                                      {WarpFilter::bilinear, "bilinear"},
                                      {WarpFilter::bicubic, "bicubic"}});

struct RandomHorizontalFlip {
  double probability = 0.5;
};

struct RandomVerticalFlip {
  double probability = 0.5;
};

// x and y in pixels from the top left corner of the picture. If it is empty: the middle.
using TurnCenter = std::optional<std::array<double, 2>>;

// Turns the picture counter-clockwise.
struct RandomRotation {
  DegreeRange degrees = 15;
  WarpFilter filter = WarpFilter::nearest;
  RgbColor fill = {0, 0, 0};
  // The canvas grows to show the whole rotated picture; not together with a center. False: its size
  // stays.
  bool expand = false;
  TurnCenter center = {};  // -32768 .. 32768 each
};

// Turns, shears and scales, and shifts. Its size stays.
struct RandomAffine {
  DegreeRange degrees = 0;
  // Shares of the width and of the height: a shift is drawn uniformly from [-share, share], and
  // rounded to whole pixels. 0 .. 1.
  double translate_x = 0;
  double translate_y = 0;
  double scale_min = 1;  // 0.01 <= scale_min <= scale_max <= 100
  double scale_max = 1;
  DegreeRange shear_x = 0;  // less than 90 degrees
  DegreeRange shear_y = 0;
  WarpFilter filter = WarpFilter::nearest;
  RgbColor fill = {0, 0, 0};
  TurnCenter center = {};  // as RandomRotation's
};

// With `probability`, moves each corner inwards by whole pixels, up to `distortion` of half the
// size.
struct RandomPerspective {
  double distortion = 0.5;  // 0 .. 1
  double probability = 0.5;
  WarpFilter filter = WarpFilter::bilinear;
  RgbColor fill = {0, 0, 0};
};

// Adds pixels around the picture.
struct Pad {
  Padding padding = 0;  // 0 .. 8192 each
  RgbColor fill = {0, 0, 0};
};

// With `probability`, puts the picture at a random place on a canvas of colour `fill`, larger by a
// random factor.
struct RandomZoomOut {
  double side_min = 1;  // 1 <= side_min <= side_max <= 16
  double side_max = 4;
  double probability = 0.5;
  RgbColor fill = {0, 0, 0};
};

// The crop of SSD. Draws a minimal overlap (intersection over union), then up to `trials` crops,
// until one has this overlap with a box whose centre is inside. Boxes with the centre outside are
// dropped. An overlap of 1 or more keeps the whole picture; so do 50 overlaps without success. The
// boxes are those that follow the view.
struct RandomIoUCrop {
  double scale_min = 0.3;  // of each side, 0 < scale_min <= scale_max <= 1
  double scale_max = 1.0;
  double ratio_min = 0.5;  // width / height
  double ratio_max = 2.0;
  std::vector<double> overlaps = {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
  int trials = 40;  // 1 .. 1000
};

// Resizes the picture to fit into `size` times a random factor; the aspect ratio stays.
struct ScaleJitter {
  ImageSize size = 1024;
  double scale_min = 0.1;  // 0 < scale_min <= scale_max <= 16
  double scale_max = 2.0;
  Interpolation interpolation = Interpolation::bilinear;
};

// Takes a crop of `size` at a random place; a smaller picture gets `fill` at the right and bottom.
struct FixedSizeCrop {
  ImageSize size = 1024;
  RgbColor fill = {0, 0, 0};
};

// The last step of a Compose for pictures of different sizes. Each picture is at the top left of a
// canvas of `size`; the rest of the normalised output is zero. A loader cuts the canvas of a batch
// to its largest picture, rounded up to `multiple`. A picture larger than `size` is a bad sample,
// Error(unsupported).
struct PadToLargest {
  ImageSize size = 1344;
  int64_t multiple = 32;  // 1 .. 1024
};

// The central `size`; a smaller picture gets black around it.
struct CenterCrop {
  ImageSize size = 224;
};

// Resizes the short side to one of `sizes`, drawn at random; the long side becomes at most
// max_size.
struct RandomShortestSize {
  std::vector<int64_t> sizes = {800};
  int64_t max_size = 0;  // 0: any
  Interpolation interpolation = Interpolation::bilinear;
};

}  // namespace ffkit
