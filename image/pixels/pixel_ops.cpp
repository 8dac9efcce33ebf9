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

}  // namespace ffkit
