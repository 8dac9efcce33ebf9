#include "batch_mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "mix_kernels.h"
#include "refuse.h"

namespace ffkit {
namespace {

constexpr double kMaxAlpha = 1000;

// Uniform in (0, 1].
double uniform_above_zero(CounterRandom& random) {
  return 1 - random.uniform();
}

double draw_normal(CounterRandom& random) {
  const double radius = std::sqrt(-2 * std::log(uniform_above_zero(random)));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// The logarithm of a Gamma(alpha, 1) number.
double draw_log_gamma(double alpha, CounterRandom& random) {
  double log_boost = 0;
  if (alpha < 1) {
    log_boost = std::log(uniform_above_zero(random)) / alpha;
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random);
    const double root = 1 + c * x;
    const double u = uniform_above_zero(random);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d * v) + log_boost;
    }
  }
}

// One axis of CutMix's box.
void cut(int64_t length, double ratio, CounterRandom& random, int& first, int& count) {
  const int64_t center = random.below(length);
  const auto half = static_cast<int64_t>(ratio * static_cast<double>(length));
  const int64_t begin = std::max<int64_t>(center - half, 0);
  first = static_cast<int>(begin);
  count = static_cast<int>(std::min(center + half, length) - begin);
}

// Copies the box from one sample to another.
void copy_box(const Rect& box, ImageSize size, const ImageOutput& output, const uint8_t* from,
              uint8_t* to) {
  const bool is_planar = output.layout == Layout::nchw;
  const size_t pixel_bytes = (is_planar ? 1 : 3) * size_of(output.dtype);
  const size_t row_bytes = static_cast<size_t>(size.width) * pixel_bytes;
  for (int64_t plane = 0; plane < (is_planar ? 3 : 1); ++plane) {
    const auto first_row = static_cast<size_t>(plane * size.height + box.y);
    size_t at = first_row * row_bytes + static_cast<size_t>(box.x) * pixel_bytes;
    for (int y = 0; y < box.height; ++y, at += row_bytes) {
      std::memcpy(to + at, from + at, static_cast<size_t>(box.width) * pixel_bytes);
    }
  }
}

}  // namespace

void validate(const BatchMixing& mixing) {
  check_between("BatchMixing mixup_alpha", mixing.mixup_alpha, 0, kMaxAlpha);
  check_between("BatchMixing cutmix_alpha", mixing.cutmix_alpha, 0, kMaxAlpha);
}

double draw_beta(double alpha, CounterRandom& random) {
  const double log_a = draw_log_gamma(alpha, random);
  const double log_b = draw_log_gamma(alpha, random);
  return 1 / (1 + std::exp(log_b - log_a));
}

MixDraw draw_mix(const BatchMixing& mixing, CounterRandom& random, ImageSize size) {
  MixDraw draw;
  draw.is_cutmix = mixing.cutmix_alpha > 0;
  if (draw.is_cutmix && mixing.mixup_alpha > 0) draw.is_cutmix = random.below(2) == 1;
  draw.lambda = draw_beta(draw.is_cutmix ? mixing.cutmix_alpha : mixing.mixup_alpha, random);
  if (!draw.is_cutmix) return draw;
  const double ratio = 0.5 * std::sqrt(1 - draw.lambda);
  cut(size.width, ratio, random, draw.box.x, draw.box.width);
  cut(size.height, ratio, random, draw.box.y, draw.box.height);
  const double area = static_cast<double>(draw.box.width) * draw.box.height;
  draw.lambda = 1 - area / static_cast<double>(size.width * size.height);
  return draw;
}

void apply_mix(const MixDraw& draw, void* images, int64_t num_samples, ImageSize size,
               const ImageOutput& output, void* scratch) {
  if (num_samples == 0) return;
  const auto num_values = static_cast<size_t>(3 * size.height * size.width);
  const size_t num_bytes = num_values * size_of(output.dtype);
  auto* first = static_cast<uint8_t*>(images);
  uint8_t* last = first + static_cast<size_t>(num_samples - 1) * num_bytes;
  const auto mix = [&](uint8_t* sample, const uint8_t* before) {
    if (draw.is_cutmix) return copy_box(draw.box, size, output, before, sample);
    mix_values({.values = sample,
                .others = before,
                .num_values = num_values,
                .dtype = output.dtype,
                .weight = static_cast<float>(draw.lambda),
                .other_weight = static_cast<float>(1 - draw.lambda)});
  };
  // From the back, every sample still finds the one before it unchanged; the first finds the last in the scratch.
  std::memcpy(scratch, last, num_bytes);
  for (uint8_t* sample = last; sample != first; sample -= num_bytes)
    mix(sample, sample - num_bytes);
  mix(first, static_cast<const uint8_t*>(scratch));
}

}  // namespace ffkit
