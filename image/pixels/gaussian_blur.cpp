#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "pixels/pixel_kernels.h"
#include "pixels/pixel_ops.h"

namespace ffkit {
namespace {

constexpr int kBoxPasses = 3;

// _gaussian_blur_radius() in Pillow's src/libImaging/BoxBlur.c, which counts in floats.
float box_radius(float sigma) {
  const float sigma2 = sigma * sigma / kBoxPasses;
  const auto length = static_cast<float>(std::sqrt(12.0 * sigma2 + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * sigma2);
  part /= 6 * (sigma2 - (whole + 1) * (whole + 1));
  return whole + part;
}

// ImagingHorizontalBoxBlur() there.
BoxBlur box_blur_of(float radius) {
  constexpr uint32_t kOne = 1U << 24;
  BoxBlur blur;
  blur.radius = static_cast<int>(radius);
  blur.inner = static_cast<uint32_t>(static_cast<float>(kOne) / (radius * 2 + 1));
  blur.outer = (kOne - static_cast<uint32_t>(blur.radius * 2 + 1) * blur.inner) / 2;
  return blur;
}

// The first and last pixel of a row of RGB, `edge` times before and behind it.
void repeat_ends(uint8_t* row, size_t num_values, int edge) {
  uint8_t* end = row + num_values;
  for (ptrdiff_t i = 1; i <= ptrdiff_t{3} * edge; ++i) row[-i] = row[3 - i];
  for (ptrdiff_t i = 0; i < ptrdiff_t{3} * edge; ++i) end[i] = end[i - 3];
}

// Where index i lies when a line of `size` is mirrored at its ends, which are not repeated.
int mirrored(int i, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  i = std::abs(i) % period;
  return std::min(i, period - i);
}

// _get_gaussian_kernel1d() of torchvision/transforms/v2/functional/_misc.py: the softmax of -x^2 /
// (2 sigma^2), the middle one first.
void make_weights(int radius, double sigma, std::vector<float>& weights) {
  const auto exponential = [&](int x) { return std::exp(-0.5 * x * x / (sigma * sigma)); };
  double sum = 1;
  for (int x = 1; x <= radius; ++x) sum += 2 * exponential(x);
  weights.clear();
  for (int x = 0; x <= radius; ++x) weights.push_back(static_cast<float>(exponential(x) / sum));
}

}  // namespace

void GaussianBlurrer::blur_as_pillow(const RgbImage& image, double sigma) {
  const float radius = box_radius(static_cast<float>(sigma));
  if (sigma == 0 || radius == 0) return;
  const BoxBlur blur = box_blur_of(radius);
  blur_rows(image, blur);
  blur_columns(image, blur);
}

void GaussianBlurrer::blur_rows(const RgbImage& image, const BoxBlur& blur) {
  const size_t num_values = size_t{3} * static_cast<size_t>(image.width);
  const int edge = blur.radius + 1;
  const size_t before = size_t{3} * static_cast<size_t>(edge);
  const size_t length = num_values + 2 * before + kBlurSlack;
  bytes_.resize(std::max(bytes_.size(), 2 * length));
  for (int y = 0; y < image.height; ++y) {
    uint8_t* from = bytes_.data() + before;
    uint8_t* to = from + length;
    std::memcpy(from, image.row(y), num_values);
    for (int pass = 0; pass < kBoxPasses; ++pass) {
      repeat_ends(from, num_values, edge);
      box_blur_row(from, num_values, blur, to);
      std::swap(from, to);
    }
    std::memcpy(image.row(y), from, num_values);
  }
}

void GaussianBlurrer::blur_columns(const RgbImage& image, const BoxBlur& blur) {
  const size_t num_values = size_t{3} * static_cast<size_t>(image.width);
  const size_t length = static_cast<size_t>(image.height) * kBlurStrip;
  bytes_.resize(std::max(bytes_.size(), 2 * length));
  for (size_t left = 0; left < num_values; left += kBlurStrip) {
    uint8_t* from = bytes_.data();
    uint8_t* to = from + length;
    const size_t width = std::min(kBlurStrip, num_values - left);
    for (int y = 0; y < image.height; ++y) {
      std::memcpy(from + static_cast<size_t>(y) * kBlurStrip, image.row(y) + left, width);
    }
    for (int pass = 0; pass < kBoxPasses; ++pass) {
      box_blur_strip(from, image.height, blur, to);
      std::swap(from, to);
    }
    for (int y = 0; y < image.height; ++y) {
      std::memcpy(image.row(y) + left, from + static_cast<size_t>(y) * kBlurStrip, width);
    }
  }
}

void GaussianBlurrer::blur_as_torchvision(const RgbImage& image, int kernel_size, double sigma) {
  const int radius = kernel_size / 2;
  make_weights(radius, sigma, weights_);
  const SymmetricKernel kernel{weights_.data(), radius};

  const size_t num_values = size_t{3} * static_cast<size_t>(image.width);
  const size_t before = size_t{3} * static_cast<size_t>(radius);
  const size_t padded = num_values + 2 * before + kBlurSlack;
  const size_t stride = num_values + kBlurSlack;
  const int num_rows = 2 * radius + 1;
  floats_.resize(std::max(floats_.size(), padded + static_cast<size_t>(num_rows) * stride));
  bytes_.resize(std::max(bytes_.size(), stride));
  rows_.resize(static_cast<size_t>(num_rows));
  float* middle = floats_.data() + before;
  // Row y of the picture, blurred along itself, lies in place y modulo their number.
  const auto place_of = [&](int y) {
    return floats_.data() + padded + static_cast<size_t>(y % num_rows) * stride;
  };
  int num_made = 0;
  for (int y = 0; y < image.height; ++y) {
    for (; num_made <= std::min(y + radius, image.height - 1); ++num_made) {
      const uint8_t* source = image.row(num_made);
      for (size_t i = 0; i < num_values; ++i) middle[i] = source[i];
      for (int x = 1; x <= radius; ++x) {
        const float* left = middle + ptrdiff_t{3} * mirrored(-x, image.width);
        std::copy_n(left, 3, middle - ptrdiff_t{3} * x);
        const float* right = middle + ptrdiff_t{3} * mirrored(image.width - 1 + x, image.width);
        std::copy_n(right, 3, middle + ptrdiff_t{3} * (image.width - 1 + x));
      }
      convolve_row(middle, num_values, kernel, place_of(num_made));
    }
    for (int k = 0; k <= 2 * radius; ++k) {
      rows_[static_cast<size_t>(k)] = place_of(mirrored(y + k - radius, image.height));
    }
    convolve_rows(rows_.data(), num_values, kernel, bytes_.data());
    std::memcpy(image.row(y), bytes_.data(), num_values);
  }
}

}  // namespace ffkit
