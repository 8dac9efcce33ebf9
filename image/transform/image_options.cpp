#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <variant>

#include <ffkit/image/image_options.h>

#include "base/make_error.h"
#include "random_numbers/random_streams.h"

namespace ffkit {
namespace {

constexpr int kMaxOps = 100;
constexpr int kMaxBins = 1000;

// Times a value of 255 it is far from where 32-bit integers end.
constexpr double kMaxFactor = 1'000'000;

void check_factor(std::string_view name, const FactorRange& range) {
  if (range.min >= 0 && range.max >= range.min && range.max <= kMaxFactor) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is {:g} to {:g}; expected 0 <= min <= max <= {:.0f}", name, range.min,
                          range.max, kMaxFactor));
}

void check(const ColorJitter& jitter) {
  check_factor("ColorJitter brightness", jitter.brightness);
  check_factor("ColorJitter contrast", jitter.contrast);
  check_factor("ColorJitter saturation", jitter.saturation);
  check_bounds("ColorJitter hue", jitter.hue.min, jitter.hue.max, -0.5, 0.5);
}

void check(const RandAugment& augment) {
  check_between("RandAugment num_ops", augment.num_ops, 0, kMaxOps);
  check_between("RandAugment num_magnitude_bins", augment.num_magnitude_bins, 2, kMaxBins);
  check_between("RandAugment magnitude", augment.magnitude, 0, augment.num_magnitude_bins - 1);
}

void check(const TrivialAugmentWide& augment) {
  check_between("TrivialAugmentWide num_magnitude_bins", augment.num_magnitude_bins, 2, kMaxBins);
}

void check(const std::shared_ptr<const PixelTransform>& transform) {
  if (transform == nullptr) {
    throw Error(ErrorCode::invalid_argument, "a PixelTransform is null; expected an object");
  }
}

void check(const PhotoMetricDistortion& distortion) {
  check_between("PhotoMetricDistortion brightness_delta", distortion.brightness_delta, 0, 255);
  check_factor("PhotoMetricDistortion contrast", distortion.contrast);
  check_factor("PhotoMetricDistortion saturation", distortion.saturation);
  check_between("PhotoMetricDistortion hue_delta", distortion.hue_delta, 0, 180);
}

void check(const GaussianBlur& blur) {
  constexpr double kMaxSigma = 100;  // Pillow's boxes of it have sums of 16 bits
  constexpr int kMaxKernel = 255;
  const bool has_kernel = blur.kernel_size != 0;
  if (has_kernel &&
      (blur.kernel_size < 1 || blur.kernel_size > kMaxKernel || blur.kernel_size % 2 == 0)) {
    refuse("GaussianBlur kernel_size", blur.kernel_size,
           fmt::format("0 or an odd number from 1 to {}", kMaxKernel));
  }
  const SigmaRange& sigma = blur.sigma;
  const bool is_positive = has_kernel ? sigma.min > 0 : sigma.min >= 0;
  if (is_positive && sigma.max >= sigma.min && sigma.max <= kMaxSigma) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("GaussianBlur sigma is {:g} to {:g}; expected 0 {} min <= max <= {:g}",
                          sigma.min, sigma.max, has_kernel ? "<" : "<=", kMaxSigma));
}

void check(const Solarize& solarize) {
  check_between("Solarize threshold", solarize.threshold, 0, 256);
}

void check(const Posterize& posterize) {
  check_between("Posterize bits", posterize.bits, 1, 8);
}

void check(const Equalize&) {}
void check(const AutoContrast&) {}
void check(const Grayscale& grey) {
  if (grey.num_output_channels == 3) return;
  refuse("Grayscale num_output_channels", grey.num_output_channels,
         "3, as in Grayscale(3); for one channel, remove Grayscale and give channels = 1");
}
void check(const Invert&) {}

void check(const AdjustSharpness& sharpness) {
  check_between("AdjustSharpness factor", sharpness.factor, 0, kMaxFactor);
}

void check(const AutoAugment& augment) {
  const auto policy = static_cast<int>(augment.policy);
  check_between("AutoAugment policy", policy, 0, static_cast<int>(AutoAugmentPolicy::svhn));
}

void check(const Apply& apply) {
  check_probability("Apply probability", apply.probability);
  if (!apply.augmentations.empty()) return;
  throw Error(ErrorCode::invalid_argument, "Apply has no augmentations; expected at least one");
}

void check(const OneOf& one_of) {
  if (one_of.augmentations.empty()) {
    throw Error(ErrorCode::invalid_argument, "OneOf has no augmentations; expected at least one");
  }
  if (one_of.weights.empty()) return;
  if (one_of.weights.size() != one_of.augmentations.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("OneOf has {} augmentations and {} weights; expected one weight for "
                            "each augmentation, or none",
                            one_of.augmentations.size(), one_of.weights.size()));
  }
  for (const double weight : one_of.weights) check_between("OneOf weight", weight, 0, kMaxFactor);
  if (std::ranges::all_of(one_of.weights, [](double weight) { return weight == 0; })) {
    throw Error(ErrorCode::invalid_argument,
                "all weights of OneOf are 0; expected at least one above 0");
  }
}

// The augmentations of an Apply or OneOf; null for others.
const std::vector<Augmentation>* list_within(const Augmentation& augmentation) {
  if (const auto* all = std::get_if<Apply>(&augmentation)) return &all->augmentations;
  if (const auto* one = std::get_if<OneOf>(&augmentation)) return &one->augmentations;
  return nullptr;
}

// level: 0 outside of any Apply or OneOf.
void check_list(const std::vector<Augmentation>& augmentations, int level) {
  constexpr int kMaxLevels = 16;
  if (level > kMaxLevels) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("Apply or OneOf are nested more than {0} levels deep; nest at most {0} levels",
                    kMaxLevels));
  }
  std::array<int, std::variant_size_v<AnyAugmentation>> num_of_kind = {};
  for (const Augmentation& augmentation : augmentations) {
    std::visit([](const auto& a) { check(a); }, augmentation);
    if (++num_of_kind[augmentation.index()] > kStreamsPerAugmentation) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there are more than {0} augmentations of one kind; give at most {0}",
                              kStreamsPerAugmentation));
    }
    if (level > 0 && std::holds_alternative<PhotoMetricDistortion>(augmentation)) {
      throw Error(
          ErrorCode::invalid_argument,
          "PhotoMetricDistortion works on floats, but Apply and OneOf take only augmentations that "
          "work on bytes; use PhotoMetricDistortion alone, with a ScalePad");
    }
    if (const auto* within = list_within(augmentation)) check_list(*within, level + 1);
  }
}

// A ScalePad makes floats, for which there is one augmentation; all others are for bytes.
void check_floats(const ImageOptions& options) {
  const bool is_float = std::holds_alternative<ScalePad>(options.transform);
  const auto num_distortions =
      std::ranges::count_if(options.augmentations, [](const Augmentation& augmentation) {
        return std::holds_alternative<PhotoMetricDistortion>(augmentation);
      });
  if (!is_float && num_distortions > 0) {
    throw Error(ErrorCode::invalid_argument,
                "PhotoMetricDistortion works on floats, but this transform makes bytes; give a "
                "ScalePad, which makes floats, or another augmentation");
  }
  if (is_float && std::ssize(options.augmentations) > num_distortions) {
    throw Error(ErrorCode::invalid_argument,
                "ScalePad makes floats, but this augmentation changes bytes; give only "
                "PhotoMetricDistortion, or another transform");
  }
  if (num_distortions > 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there are {} PhotoMetricDistortions; give only one", num_distortions));
  }
}

// What comes behind the transform changes bytes, or the numbers that they become.
void check_values(const ImageOptions& options) {
  const DType dtype = options.output.dtype;
  if (dtype != DType::u16 && dtype != DType::i32) return;
  if (std::holds_alternative<Compose>(options.transform)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("Compose changes values into bytes, but {} output keeps the values of the "
                    "file; give another transform, or a MaskField, which keeps numbers",
                    to_string(dtype)));
  }
  if (options.augmentations.empty() && !options.erasing) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("augmentations and RandomErasing change colours, but {} output keeps the "
                          "values of the file; leave out the augmentations and RandomErasing, or "
                          "give a dtype of u8, f32, f16 or bf16",
                          to_string(dtype)));
}

void check(const RandomErasing& erasing, DType dtype) {
  check_probability("RandomErasing probability", erasing.probability);
  check_scale_and_ratio("RandomErasing", erasing);
  if (dtype != DType::u8) {
    if (!std::isfinite(erasing.value)) {
      refuse("RandomErasing value", erasing.value, "a finite number");
    }
    return;
  }
  check_between("RandomErasing value", erasing.value, 0, 255);
  if (erasing.noise) {
    throw Error(ErrorCode::invalid_argument,
                "RandomErasing noise is not possible with u8 output; give noise = false or a dtype "
                "of f32, f16 or bf16");
  }
}

}  // namespace

void validate(const ImageOptions& options) {
  validate(options.transform, options.output);
  check_list(options.augmentations, 0);
  check_floats(options);
  check_values(options);
  if (options.erasing) check(*options.erasing, options.output.dtype);
}

bool moves_pixels(const std::vector<Augmentation>& augmentations) {
  return std::ranges::any_of(augmentations, [](const Augmentation& augmentation) {
    const auto* within = list_within(augmentation);
    return std::holds_alternative<RandAugment>(augmentation) ||
           std::holds_alternative<TrivialAugmentWide>(augmentation) ||
           std::holds_alternative<AutoAugment>(augmentation) ||
           (within != nullptr && moves_pixels(*within));
  });
}

}  // namespace ffkit
