#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <vector>

#include "pixels/pixel_ops.h"

namespace ffkit {

namespace {

constexpr double kRadians = std::numbers::pi / 180;
constexpr int kFixedBits = 16;
constexpr int64_t kFixedOne = int64_t{1} << kFixedBits;

const uint8_t* source_pixel(const RgbView& image, int64_t x, int64_t y) {
  return image.data + y * image.stride + 3 * x;
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

// Pillow's affine_fixed(): in 16.16 fixed point.
void warp_fixed(const RgbView& image, const ViewMatrix& m, RgbColor fill, const RgbImage& out) {
  const auto fixed = [](double v) { return static_cast<int64_t>(std::floor(v * 65536.0 + 0.5)); };
  const int64_t dxx = fixed(m[0]);
  const int64_t dxy = fixed(m[1]);
  const int64_t dyx = fixed(m[3]);
  const int64_t dyy = fixed(m[4]);
  int64_t x_first = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  int64_t y_first = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  for (int y = 0; y < out.height; ++y, x_first += dxy, y_first += dyy) {
    uint8_t* to = out.row(y);
    Range range{0, out.width};
    range = clip(range, x_first, dxx, image.width * kFixedOne);
    range = clip(range, y_first, dyx, image.height * kFixedOne);
    if (range.begin >= range.end) {
      fill_pixels(to, static_cast<size_t>(out.width), fill);
      continue;
    }
    fill_pixels(to, static_cast<size_t>(range.begin), fill);
    fill_pixels(to + 3 * range.end, static_cast<size_t>(out.width - range.end), fill);
    int64_t from_x = x_first + range.begin * dxx;
    int64_t from_y = y_first + range.begin * dyx;
    if (dxx == kFixedOne && dyx == 0) {
      std::memcpy(to + 3 * range.begin,
                  source_pixel(image, from_x >> kFixedBits, from_y >> kFixedBits),
                  static_cast<size_t>(3 * (range.end - range.begin)));
      continue;
    }
    for (int64_t x = range.begin; x < range.end; ++x, from_x += dxx, from_y += dyx) {
      std::memcpy(to + 3 * x, source_pixel(image, from_x >> kFixedBits, from_y >> kFixedBits), 3);
    }
  }
}

// The pixel at a place, or -1: outside.
int pixel_at_place(double place, int size) {
  return place >= 0 && place < size ? static_cast<int>(place) : -1;
}

// Pillow's ImagingScaleAffine(): both axes by themselves, added up step by step.
void warp_scaled(const RgbView& image, const ViewMatrix& m, RgbColor fill, const RgbImage& out) {
  std::vector<int> columns(static_cast<size_t>(out.width));
  double from_x = m[2] + m[0] * 0.5;
  for (int& column : columns) {
    column = pixel_at_place(from_x, image.width);
    from_x += m[0];
  }
  double from_y = m[5] + m[4] * 0.5;
  for (int y = 0; y < out.height; ++y, from_y += m[4]) {
    uint8_t* to = out.row(y);
    const int row = pixel_at_place(from_y, image.height);
    for (const int column : columns) {
      const bool is_inside = row >= 0 && column >= 0;
      std::memcpy(to, is_inside ? source_pixel(image, column, row) : fill.data(), 3);
      to += 3;
    }
  }
}

// What Pillow does where 16.16 is too little: places are added up in floats.
void warp_affine_in_floats(const RgbView& image, const ViewMatrix& m, RgbColor fill,
                           const RgbImage& out) {
  double first_x = m[2] + m[0] * 0.5 + m[1] * 0.5;
  double first_y = m[5] + m[3] * 0.5 + m[4] * 0.5;
  for (int y = 0; y < out.height; ++y, first_x += m[1], first_y += m[4]) {
    uint8_t* to = out.row(y);
    double x = first_x;
    double y_at = first_y;
    for (int i = 0; i < out.width; ++i, to += 3, x += m[0], y_at += m[3]) {
      const int column = pixel_at_place(x, image.width);
      const int row = pixel_at_place(y_at, image.height);
      const bool is_inside = row >= 0 && column >= 0;
      std::memcpy(to, is_inside ? source_pixel(image, column, row) : fill.data(), 3);
    }
  }
}

bool fits_fixed(const RgbImage& out, const ViewMatrix& m) {
  const auto fits = [&](double x, double y) {
    return std::abs(x * m[0] + y * m[1] + m[2]) < 32768.0 &&
           std::abs(x * m[3] + y * m[4] + m[5]) < 32768.0;
  };
  return fits(0, 0) && fits(out.width, out.height) && fits(0, out.height) && fits(out.width, 0);
}

struct Nearest {
  static void run(const RgbView& image, double x, double y, uint8_t* to) {
    std::memcpy(to, source_pixel(image, static_cast<int>(x), static_cast<int>(y)), 3);
  }
};

// N x N pixels. Those outside are the nearest that there are.
template <int N>
struct Around {
  Around(const RgbView& image, double x, double y) {
    constexpr int kBefore = N / 2 - 1;
    const double left = std::floor(x - 0.5);
    const double top = std::floor(y - 0.5);
    dx = x - 0.5 - left;
    dy = y - 0.5 - top;
    for (int i = 0; i < N; ++i) {
      columns[i] = 3 * std::clamp(static_cast<int>(left) - kBefore + i, 0, image.width - 1);
      const int row = std::clamp(static_cast<int>(top) - kBefore + i, 0, image.height - 1);
      rows[i] = image.data + row * image.stride;
    }
  }
  double value(int row, int column, int channel) const {
    return rows[row][columns[column] + channel];
  }

  double dx, dy;
  std::array<int, N> columns;
  std::array<const uint8_t*, N> rows;
};

struct Bilinear {
  static double mixed(double a, double b, double share) { return a + (b - a) * share; }
  static void run(const RgbView& image, double x, double y, uint8_t* to) {
    const Around<2> around(image, x, y);
    for (int c = 0; c < 3; ++c) {
      const double above = mixed(around.value(0, 0, c), around.value(0, 1, c), around.dx);
      const double below = mixed(around.value(1, 0, c), around.value(1, 1, c), around.dx);
      to[c] = static_cast<uint8_t>(mixed(above, below, around.dy));
    }
  }
};

struct Bicubic {
  static double mixed(double a, double b, double c, double d, double share) {
    const double p1 = b;
    const double p2 = -a + c;
    const double p3 = 2 * (a - b) + c - d;
    const double p4 = -a + b - c + d;
    return p1 + share * (p2 + share * (p3 + share * p4));
  }
  static void run(const RgbView& image, double x, double y, uint8_t* to) {
    const Around<4> around(image, x, y);
    for (int c = 0; c < 3; ++c) {
      std::array<double, 4> rows;
      for (int i = 0; i < 4; ++i) {
        rows[i] = mixed(around.value(i, 0, c), around.value(i, 1, c), around.value(i, 2, c),
                        around.value(i, 3, c), around.dx);
      }
      const double value = mixed(rows[0], rows[1], rows[2], rows[3], around.dy);
      to[c] = value <= 0 ? 0 : value >= 255 ? 255 : static_cast<uint8_t>(value);
    }
  }
};

// Pillow's ImagingGenericTransform().
template <typename Filter, bool is_affine>
void warp_each(const RgbView& image, const ViewMatrix& m, RgbColor fill, const RgbImage& out) {
  for (int row = 0; row < out.height; ++row) {
    uint8_t* to = out.row(row);
    const double y = row + 0.5;
    for (int column = 0; column < out.width; ++column, to += 3) {
      const double x = column + 0.5;
      double from_x = m[0] * x + m[1] * y + m[2];
      double from_y = m[3] * x + m[4] * y + m[5];
      if constexpr (!is_affine) {
        const double w = m[6] * x + m[7] * y + 1;
        from_x /= w;
        from_y /= w;
      }
      const bool is_inside =
          from_x >= 0 && from_x < image.width && from_y >= 0 && from_y < image.height;
      if (is_inside) {
        Filter::run(image, from_x, from_y, to);
      } else {
        std::memcpy(to, fill.data(), 3);
      }
    }
  }
}

template <bool is_affine>
void warp_filtered(const RgbView& image, const ViewMatrix& m, WarpFilter filter, RgbColor fill,
                   const RgbImage& out) {
  switch (filter) {
    case WarpFilter::nearest:
      return warp_each<Nearest, is_affine>(image, m, fill, out);
    case WarpFilter::bilinear:
      return warp_each<Bilinear, is_affine>(image, m, fill, out);
    case WarpFilter::bicubic:
      return warp_each<Bicubic, is_affine>(image, m, fill, out);
  }
}

// Python's round(value, 15).
double rounded_to_15_digits(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.15f", value);
  return std::strtod(text, nullptr);
}

}  // namespace

ViewMatrix rotation_source(double degrees, int width, int height) {
  const std::array<double, 2> middle = {width / 2.0, height / 2.0};
  return rotation_about(degrees, {height, width}, middle, /*expand=*/false).source;
}

// As Image.rotate() of Pillow has it, sums in the same order.
Rotation rotation_about(double degrees, ImageSize picture, std::array<double, 2> center,
                        bool expand) {
  // Python's degrees % 360
  double angle = std::fmod(degrees, 360.0);
  if (angle < 0) angle += 360.0;
  const double radians = -(angle * kRadians);
  const double cosine = rounded_to_15_digits(std::cos(radians));
  const double sine = rounded_to_15_digits(std::sin(radians));
  const double minus_sine = rounded_to_15_digits(-std::sin(radians));
  const auto [x, y] = center;
  Rotation made{.source = {cosine, sine, cosine * -x + sine * -y + 0.0 + x, minus_sine, cosine,
                           minus_sine * -x + cosine * -y + 0.0 + y, 0, 0, 1},
                .size = picture};
  if (!expand) return made;
  ViewMatrix& m = made.source;
  const auto width = static_cast<double>(picture.width);
  const auto height = static_cast<double>(picture.height);
  // A quarter turn keeps all pixels, also where one side alone is odd.
  if (angle == 90 || angle == 270) {
    made.size = {picture.width, picture.height};
    m = angle == 90 ? ViewMatrix{0, -1, width, 1, 0, 0, 0, 0, 1}
                    : ViewMatrix{0, 1, 0, -1, 0, height, 0, 0, 1};
    return made;
  }
  const auto moved = [&](double u, double v) {
    return std::array{m[0] * u + m[1] * v + m[2], m[3] * u + m[4] * v + m[5]};
  };
  const std::array corners = {moved(0, 0), moved(width, 0), moved(width, height), moved(0, height)};
  const auto extent = [&](size_t axis) {
    const auto [low, high] = std::ranges::minmax(
        corners, {}, [axis](const std::array<double, 2>& corner) { return corner[axis]; });
    return std::ceil(high[axis]) - std::floor(low[axis]);
  };
  const double new_width = extent(0);
  const double new_height = extent(1);
  const auto begin = moved(-(new_width - width) / 2.0, -(new_height - height) / 2.0);
  m[2] = begin[0];
  m[5] = begin[1];
  made.size = {static_cast<int64_t>(new_height), static_cast<int64_t>(new_width)};
  return made;
}

ViewMatrix affine_source(const AffineParameters& p) {
  const double angle = p.degrees * kRadians;
  const double sx = p.shear_x * kRadians;
  const double sy = p.shear_y * kRadians;
  const double a = std::cos(angle - sy) / std::cos(sy);
  const double b = -(a * std::tan(sx) + std::sin(angle));
  const double c = std::sin(angle - sy) / std::cos(sy);
  const double d = std::cos(angle) - c * std::tan(sx);
  ViewMatrix m = {d / p.scale, -b / p.scale, 0, -c / p.scale, a / p.scale, 0, 0, 0, 1};
  const double x = p.centre_x + p.shift_x;
  const double y = p.centre_y + p.shift_y;
  m[2] = p.centre_x - m[0] * x - m[1] * y;
  m[5] = p.centre_y - m[3] * x - m[4] * y;
  return m;
}

void warp_pixels(const RgbView& image, const ViewMatrix& m, WarpFilter filter, RgbColor fill,
                 const RgbImage& out) {
  if (m[6] != 0 || m[7] != 0) return warp_filtered<false>(image, m, filter, fill, out);
  if (filter != WarpFilter::nearest) return warp_filtered<true>(image, m, filter, fill, out);
  if (m[1] == 0 && m[3] == 0) return warp_scaled(image, m, fill, out);
  if (fits_fixed(out, m)) return warp_fixed(image, m, fill, out);
  warp_affine_in_floats(image, m, fill, out);
}

}  // namespace ffkit
