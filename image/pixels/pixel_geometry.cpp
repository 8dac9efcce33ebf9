// The operations of pixel_ops.h that move pixels.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numbers>

#include "pixels/pixel_ops.h"

namespace ffkit {
namespace {

constexpr double kRadians = std::numbers::pi / 180;
constexpr int kFixedBits = 16;
constexpr int64_t kFixedOne = int64_t{1} << kFixedBits;

size_t row_bytes(const RgbImage& image) {
  return size_t{3} * static_cast<size_t>(image.width);
}

void fill_pixels(uint8_t* out, size_t count, RgbColor color) {
  if (color[0] == color[1] && color[1] == color[2]) {
    std::memset(out, color[0], 3 * count);
    return;
  }
  for (size_t i = 0; i < count; ++i) std::memcpy(out + 3 * i, color.data(), 3);
}

// Smallest n with n * step >= value; step > 0.
int64_t divide_up(int64_t value, int64_t step) {
  return value >= 0 ? (value + step - 1) / step : -(-value / step);
}

struct Range {
  int64_t begin;
  int64_t end;
};

// Those x of `range` for which 0 <= first + x * step < limit.
Range clip(Range range, int64_t first, int64_t step, int64_t limit) {
  if (step == 0) return first >= 0 && first < limit ? range : Range{0, 0};
  Range hit{};
  if (step > 0) {
    hit = {divide_up(-first, step), divide_up(limit - first, step)};
  } else {
    hit = {divide_up(first - limit + 1, -step), divide_up(first + 1, -step)};
  }
  return {std::max(range.begin, hit.begin), std::min(range.end, hit.end)};
}

// Pillow's affine_fixed(): output pixel (x, y) is the input's at matrix * (x + 1/2, y + 1/2), in
// 16.16 fixed point. Pillow takes it whenever corners lie within +-32768, which holds for pictures
// of our size.
void transform_nearest(const RgbImage& image, const std::array<double, 6>& m, RgbColor fill,
                       uint8_t* scratch) {
  const auto fixed = [](double v) { return static_cast<int64_t>(std::floor(v * 65536.0 + 0.5)); };
  const int64_t dxx = fixed(m[0]);
  const int64_t dxy = fixed(m[1]);
  const int64_t dyx = fixed(m[3]);
  const int64_t dyy = fixed(m[4]);
  int64_t x_first = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  int64_t y_first = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  const size_t stride = row_bytes(image);
  std::memcpy(scratch, image.data, image.num_bytes());
  for (int y = 0; y < image.height; ++y, x_first += dxy, y_first += dyy) {
    uint8_t* out = image.row(y);
    Range range{0, image.width};
    range = clip(range, x_first, dxx, image.width * kFixedOne);
    range = clip(range, y_first, dyx, image.height * kFixedOne);
    if (range.begin >= range.end) {
      fill_pixels(out, static_cast<size_t>(image.width), fill);
      continue;
    }
    fill_pixels(out, static_cast<size_t>(range.begin), fill);
    fill_pixels(out + 3 * range.end, static_cast<size_t>(image.width - range.end), fill);
    int64_t from_x = x_first + range.begin * dxx;
    int64_t from_y = y_first + range.begin * dyx;
    if (dxx == kFixedOne && dyx == 0) {
      const uint8_t* from = scratch + (from_y >> kFixedBits) * static_cast<int64_t>(stride) +
                            3 * (from_x >> kFixedBits);
      std::memcpy(out + 3 * range.begin, from, static_cast<size_t>(3 * (range.end - range.begin)));
      continue;
    }
    for (int64_t x = range.begin; x < range.end; ++x, from_x += dxx, from_y += dyx) {
      const uint8_t* from = scratch + (from_y >> kFixedBits) * static_cast<int64_t>(stride) +
                            3 * (from_x >> kFixedBits);
      std::memcpy(out + 3 * x, from, 3);
    }
  }
}

// Python's round(value, 15).
double round_to_15_digits(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.15f", value);
  return std::strtod(text, nullptr);
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
  // torchvision's _get_inverse_affine_matrix() with an angle of 0 and a scale of 1.
  const double sx = degrees_x * kRadians;
  const double sy = degrees_y * kRadians;
  const double a = std::cos(-sy) / std::cos(sy);
  const double b = -std::cos(-sy) * std::tan(sx) / std::cos(sy);
  const double c = std::sin(-sy) / std::cos(sy);
  const double d = -std::sin(-sy) * std::tan(sx) / std::cos(sy) + 1.0;
  if (b == 0 && c == 0) return;  // Pillow's way for scaling alone, here by 1
  transform_nearest(image, {d, -b, 0.0, -c, a, 0.0}, fill, scratch);
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
  const double radians = -(angle * kRadians);
  const double cos = round_to_15_digits(std::cos(radians));
  const double sin = round_to_15_digits(std::sin(radians));
  const double minus_sin = round_to_15_digits(-std::sin(radians));
  const double center_x = image.width / 2.0;
  const double center_y = image.height / 2.0;
  const double x = cos * -center_x + sin * -center_y + 0.0 + center_x;
  const double y = minus_sin * -center_x + cos * -center_y + 0.0 + center_y;
  transform_nearest(image, {cos, sin, x, minus_sin, cos, y}, fill, scratch);
}

}  // namespace ffkit
