// The operations of pixel_ops.h that move pixels.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "pixels/pixel_ops.h"
#include "pixels/warp.h"

namespace ffkit {
namespace {

size_t row_bytes(const RgbImage& image) {
  return size_t{3} * static_cast<size_t>(image.width);
}

// Each pixel is the one that lies where the matrix takes its centre to.
void transform_nearest(const RgbImage& image, const ViewMatrix& source, RgbColor fill,
                       uint8_t* scratch) {
  std::memcpy(scratch, image.data, image.num_bytes());
  const RgbView before{scratch, image.width, image.height,
                       static_cast<ptrdiff_t>(row_bytes(image))};
  warp_pixels(before, source, WarpFilter::nearest, fill, image);
}

// Pixel (x, y) goes where place(x, y) says, in a picture of the same size.
template <typename Place>
void rearrange(const RgbImage& image, uint8_t* scratch, const Place& place) {
  std::memcpy(scratch, image.data, image.num_bytes());
  const uint8_t* from = scratch;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x, from += 3) std::memcpy(place(x, y), from, 3);
  }
}

}  // namespace

void fill_pixels(uint8_t* out, size_t count, RgbColor color) {
  if (color[0] == color[1] && color[1] == color[2]) {
    std::memset(out, color[0], 3 * count);
    return;
  }
  for (size_t i = 0; i < count; ++i) std::memcpy(out + 3 * i, color.data(), 3);
}

void translate(const RgbImage& image, int dx, int dy, RgbColor fill, uint8_t* scratch) {
  if (dx == 0 && dy == 0) return;
  std::memcpy(scratch, image.data, image.num_bytes());
  const int begin = std::clamp(dx, 0, image.width);
  const int end = std::clamp(image.width + dx, 0, image.width);
  const size_t stride = row_bytes(image);
  for (int y = 0; y < image.height; ++y) {
    uint8_t* out = image.row(y);
    const int from_y = y - dy;
    if (from_y < 0 || from_y >= image.height || begin >= end) {
      fill_pixels(out, static_cast<size_t>(image.width), fill);
      continue;
    }
    const uint8_t* from = scratch + static_cast<size_t>(from_y) * stride;
    fill_pixels(out, static_cast<size_t>(begin), fill);
    std::memcpy(out + 3 * begin, from + 3 * (begin - dx),
                size_t{3} * static_cast<size_t>(end - begin));
    fill_pixels(out + 3 * end, static_cast<size_t>(image.width - end), fill);
  }
}

void shear(const RgbImage& image, double degrees_x, double degrees_y, RgbColor fill,
           uint8_t* scratch) {
  const ViewMatrix source = affine_source({.shear_x = degrees_x, .shear_y = degrees_y});
  if (source[1] == 0 && source[3] == 0) return;  // Pillow's way for scaling alone, here by 1
  transform_nearest(image, source, fill, scratch);
}

void rotate(const RgbImage& image, double degrees, RgbColor fill, uint8_t* scratch) {
  // Python's degrees % 360
  double angle = std::fmod(degrees, 360.0);
  if (angle < 0) angle += 360.0;
  const int last_x = image.width - 1;
  const int last_y = image.height - 1;
  const bool is_square = image.width == image.height;
  const auto at = [&](int x, int y) { return image.row(y) + ptrdiff_t{3} * x; };
  if (angle == 0) return;
  if (angle == 180) {
    return rearrange(image, scratch, [&](int x, int y) { return at(last_x - x, last_y - y); });
  }
  if (angle == 90 && is_square) {
    return rearrange(image, scratch, [&](int x, int y) { return at(y, last_x - x); });
  }
  if (angle == 270 && is_square) {
    return rearrange(image, scratch, [&](int x, int y) { return at(last_y - y, x); });
  }
  transform_nearest(image, rotation_source(degrees, image.width, image.height), fill, scratch);
}

}  // namespace ffkit
