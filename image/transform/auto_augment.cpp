#include <cmath>
#include <numbers>
#include <span>

#include "pixels/pixel_ops.h"
#include "transform/augmenter.h"

namespace ffkit {
namespace {

// torch.linspace(begin, end, n)[i] of f32, n >= 2. torch counts the second half from the end, and
// multiplies and adds in one rounding where the processor can. That decides whether a translation
// of 16 pixels is one of 15 when it is truncated.
float linspace(float begin, float end, int i, int n) {
  const float step = (end - begin) / static_cast<float>(n - 1);
  if (i < n / 2) return std::fma(step, static_cast<float>(i), begin);
  return std::fma(-step, static_cast<float>(n - i - 1), end);
}

// (8 - arange(n) / ((n - 1) / num_dropped)).round() of f32; halves to even.
float posterize_bits(int i, int n, int num_dropped) {
  const auto bins_per_bit = static_cast<float>((n - 1) / static_cast<double>(num_dropped));
  return std::nearbyint(8.0F - static_cast<float>(i) / bins_per_bit);
}

// Ends of the ranges of one of the two methods.
struct Ranges {
  float shear;
  float translate_x;
  float translate_y;
  float rotate;
  float enhance;
  int posterize;  // bits dropped at most
};

double magnitude_of(AugmentOp op, int bin, int num_bins, const Ranges& ranges) {
  switch (op) {
    case AugmentOp::shear_x:
    case AugmentOp::shear_y:
      return linspace(0, ranges.shear, bin, num_bins);
    case AugmentOp::translate_x:
      return linspace(0, ranges.translate_x, bin, num_bins);
    case AugmentOp::translate_y:
      return linspace(0, ranges.translate_y, bin, num_bins);
    case AugmentOp::rotate:
      return linspace(0, ranges.rotate, bin, num_bins);
    case AugmentOp::brightness:
    case AugmentOp::color:
    case AugmentOp::contrast:
    case AugmentOp::sharpness:
      return linspace(0, ranges.enhance, bin, num_bins);
    case AugmentOp::posterize:
      return posterize_bits(bin, num_bins, ranges.posterize);
    case AugmentOp::solarize:
      return linspace(1, 0, bin, num_bins);
    default:
      return 0;
  }
}

bool is_signed(AugmentOp op) {
  return op >= AugmentOp::shear_x && op <= AugmentOp::sharpness;
}

AugmentOp draw_any(CounterRandom& random) {
  return static_cast<AugmentOp>(random.below(kNumAugmentOps));
}

double draw_sign(AugmentOp op, double magnitude, CounterRandom& random) {
  return is_signed(op) && random.uniform() < 0.5 ? -magnitude : magnitude;
}

std::span<const SubPolicy> policy_of(AutoAugmentPolicy policy) {
  switch (policy) {
    case AutoAugmentPolicy::cifar10:
      return kCifar10Policy;
    case AutoAugmentPolicy::svhn:
      return kSvhnPolicy;
    default:
      return kImagenetPolicy;
  }
}

double shear_degrees(double magnitude) {
  return std::atan(magnitude) * (180 / std::numbers::pi);
}

}  // namespace

double rand_augment_magnitude(AugmentOp op, int bin, int num_bins, ImageSize size) {
  constexpr double kShare = 150.0 / 331.0;
  return magnitude_of(op, bin, num_bins,
                      {.shear = 0.3F,
                       .translate_x = static_cast<float>(kShare * static_cast<double>(size.width)),
                       .translate_y = static_cast<float>(kShare * static_cast<double>(size.height)),
                       .rotate = 30.0F,
                       .enhance = 0.9F,
                       .posterize = 4});
}

double trivial_augment_magnitude(AugmentOp op, int bin, int num_bins) {
  return magnitude_of(op, bin, num_bins,
                      {.shear = 0.99F,
                       .translate_x = 32.0F,
                       .translate_y = 32.0F,
                       .rotate = 135.0F,
                       .enhance = 0.99F,
                       .posterize = 6});
}

DrawnOp draw_op(const RandAugment& options, ImageSize size, CounterRandom& random) {
  const AugmentOp op = draw_any(random);
  const double magnitude =
      rand_augment_magnitude(op, options.magnitude, options.num_magnitude_bins, size);
  return {op, draw_sign(op, magnitude, random)};
}

DrawnOp draw_op(const TrivialAugmentWide& options, CounterRandom& random) {
  const AugmentOp op = draw_any(random);
  const int bin = static_cast<int>(random.below(options.num_magnitude_bins));
  const double magnitude = trivial_augment_magnitude(op, bin, options.num_magnitude_bins);
  return {op, draw_sign(op, magnitude, random)};
}

std::array<DrawnOp, 2> draw_ops(const AutoAugment& options, ImageSize size, CounterRandom& random) {
  constexpr int kNumBins = 10;
  const std::span<const SubPolicy> policy = policy_of(options.policy);
  const SubPolicy& drawn = policy[static_cast<size_t>(random.below(std::ssize(policy)))];
  std::array<DrawnOp, 2> ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto& [op, probability, bin] = drawn[i];
    if (random.uniform() >= probability) continue;
    ops[i] = {op, draw_sign(op, rand_augment_magnitude(op, bin, kNumBins, size), random)};
  }
  return ops;
}

void apply_op(const RgbImage& image, const DrawnOp& drawn, RgbColor fill, uint8_t* scratch) {
  const double magnitude = drawn.magnitude;
  switch (drawn.op) {
    case AugmentOp::identity:
      return;
    case AugmentOp::shear_x:
      return shear(image, shear_degrees(magnitude), 0, fill, scratch);
    case AugmentOp::shear_y:
      return shear(image, 0, shear_degrees(magnitude), fill, scratch);
    case AugmentOp::translate_x:
      return translate(image, static_cast<int>(magnitude), 0, fill, scratch);
    case AugmentOp::translate_y:
      return translate(image, 0, static_cast<int>(magnitude), fill, scratch);
    case AugmentOp::rotate:
      return rotate(image, magnitude, fill, scratch);
    case AugmentOp::brightness:
      return adjust_brightness(image, 1 + magnitude);
    case AugmentOp::color:
      return adjust_saturation(image, 1 + magnitude);
    case AugmentOp::contrast:
      return adjust_contrast(image, 1 + magnitude);
    case AugmentOp::sharpness:
      return adjust_sharpness(image, 1 + magnitude, scratch);
    case AugmentOp::posterize:
      return posterize(image, static_cast<int>(magnitude));
    case AugmentOp::solarize:
      return solarize(image, 255.0 * magnitude);
    case AugmentOp::autocontrast:
      return autocontrast(image);
    case AugmentOp::equalize:
      return equalize(image);
    case AugmentOp::invert:
      return invert(image);
  }
}

ViewMatrix source_of(const DrawnOp& drawn, int width, int height) {
  const double magnitude = drawn.magnitude;
  switch (drawn.op) {
    case AugmentOp::shear_x:
      return affine_source({.shear_x = shear_degrees(magnitude)});
    case AugmentOp::shear_y:
      return affine_source({.shear_y = shear_degrees(magnitude)});
    case AugmentOp::translate_x:
      return affine_source({.shift_x = std::trunc(magnitude)});
    case AugmentOp::translate_y:
      return affine_source({.shift_y = std::trunc(magnitude)});
    case AugmentOp::rotate:
      return rotation_source(magnitude, width, height);
    default:
      return affine_source({});
  }
}

}  // namespace ffkit
