#include "pixels/pixel_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pixels/pixel_kernels.h"

namespace ffkit {
namespace {

using ValueTable = std::array<uint8_t, 256>;

size_t num_pixels(const RgbImage& image) {
  return image.num_bytes() / 3;
}

template <typename Function>
ValueTable make_table(const Function& function) {
  ValueTable table;
  for (int i = 0; i < 256; ++i) table[i] = function(i);
  return table;
}

void map(const RgbImage& image, const std::array<ValueTable, 3>& tables) {
  uint8_t* pixel = image.data;
  for (size_t i = num_pixels(image); i > 0; --i, pixel += 3) {
    pixel[0] = tables[0][pixel[0]];
    pixel[1] = tables[1][pixel[1]];
    pixel[2] = tables[2][pixel[2]];
  }
}

using Histogram = std::array<uint32_t, 256>;

std::array<Histogram, 3> histograms(const RgbImage& image) {
  // Two sets in turn: neighbours are often equal, and the second would wait for the first.
  std::array<std::array<Histogram, 3>, 2> counts = {};
  const uint8_t* pixel = image.data;
  const size_t n = num_pixels(image);
  for (size_t i = 0; i < n; ++i, pixel += 3) {
    for (size_t c = 0; c < 3; ++c) ++counts[i % 2][c][pixel[c]];
  }
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < 256; ++i) counts[0][c][i] += counts[1][c][i];
  }
  return counts[0];
}

ValueTable identity() {
  return make_table([](int i) { return static_cast<uint8_t>(i); });
}

ValueTable autocontrast_table(const Histogram& histogram) {
  int low = 0;
  while (low < 255 && histogram[low] == 0) ++low;
  int high = 255;
  while (high > 0 && histogram[high] == 0) --high;
  if (high <= low) return identity();
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  return make_table([&](int i) {
    return static_cast<uint8_t>(std::clamp(static_cast<int>(i * scale + offset), 0, 255));
  });
}

ValueTable equalize_table(const Histogram& histogram) {
  int64_t total = 0;
  int64_t last = 0;  // of those that are not 0
  for (const uint32_t count : histogram) {
    total += count;
    if (count != 0) last = count;
  }
  const int64_t step = (total - last) / 255;
  if (step == 0) return identity();
  int64_t n = step / 2;
  return make_table([&](int i) {
    const int64_t value = n / step;
    n += histogram[i];
    return static_cast<uint8_t>(std::min<int64_t>(value, 255));
  });
}

template <typename MakeTable>
void map_by_histogram(const RgbImage& image, const MakeTable& make) {
  const auto counts = histograms(image);
  map(image, std::array<ValueTable, 3>{make(counts[0]), make(counts[1]), make(counts[2])});
}

}  // namespace

void adjust_brightness(const RgbImage& image, double factor) {
  blend_with_value(image.data, image.num_bytes(), 0, static_cast<float>(factor));
}

void adjust_contrast(const RgbImage& image, double factor) {
  const auto sum = static_cast<double>(sum_luma(image.data, num_pixels(image)));
  const int mean = static_cast<int>(sum / static_cast<double>(num_pixels(image)) + 0.5);
  blend_with_value(image.data, image.num_bytes(), mean, static_cast<float>(factor));
}

void adjust_saturation(const RgbImage& image, double factor) {
  blend_with_luma(image.data, num_pixels(image), static_cast<float>(factor));
}

void adjust_sharpness(const RgbImage& image, double factor, uint8_t* scratch) {
  // Pillow leaves the outermost pixels as they are, and pictures that have no others.
  if (image.width < 3 || image.height < 3) return;
  const size_t stride = size_t{3} * static_cast<size_t>(image.width);
  const size_t num_values = stride - 6;
  std::memcpy(scratch, image.data, image.num_bytes());
  SmoothJob job;
  job.num_values = num_values;
  job.factor = static_cast<float>(factor);
  // The loop writes whole registers: more than a row has.
  std::array<uint8_t, 3 * 8192 + kScratchSlack> results;
  job.out = results.data();
  for (int y = 1; y + 1 < image.height; ++y) {
    job.row = scratch + static_cast<size_t>(y) * stride + 3;
    job.above = job.row - stride;
    job.below = job.row + stride;
    blend_with_smooth(job);
    std::memcpy(image.row(y) + 3, results.data(), num_values);
  }
}

void adjust_hue(const RgbImage& image, double factor) {
  // numpy: np.int32(factor * 255).astype(np.uint8)
  shift_hue(image.data, num_pixels(image), static_cast<uint8_t>(static_cast<int>(factor * 255)));
}

void posterize(const RgbImage& image, int bits) {
  const auto mask = static_cast<uint8_t>(~((1 << (8 - bits)) - 1));
  uint8_t* values = image.data;
  const size_t n = image.num_bytes();
  for (size_t i = 0; i < n; ++i) values[i] &= mask;
}

void solarize(const RgbImage& image, double threshold) {
  if (threshold > 255) return;
  const auto first = static_cast<uint8_t>(std::ceil(std::max(threshold, 0.0)));
  uint8_t* values = image.data;
  const size_t n = image.num_bytes();
  for (size_t i = 0; i < n; ++i) {
    values[i] ^= values[i] < first ? uint8_t{0} : uint8_t{255};
  }
}

void autocontrast(const RgbImage& image) {
  map_by_histogram(image, autocontrast_table);
}

void equalize(const RgbImage& image) {
  map_by_histogram(image, equalize_table);
}

void invert(const RgbImage& image) {
  uint8_t* values = image.data;
  const size_t n = image.num_bytes();
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<uint8_t>(~values[i]);
}

void grayscale(const RgbImage& image) {
  set_luma(image.data, num_pixels(image));
}

// The operations of pixel_ops.h that move pixels.

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
