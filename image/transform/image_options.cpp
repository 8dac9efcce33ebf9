#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <variant>

#include <ffkit/image/image_options.h>

#include "format/refuse.h"
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
  const HueRange& hue = jitter.hue;
  if (hue.min >= -0.5 && hue.max >= hue.min && hue.max <= 0.5) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("ColorJitter hue is {:g} to {:g}; expected -0.5 <= min <= max <= 0.5",
                          hue.min, hue.max));
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

// A ScalePad makes floats, for which there is one augmentation; all others are for bytes.
void check_floats(const ImageOptions& options) {
  const bool is_float = std::holds_alternative<ScalePad>(options.transform);
  const auto num_distortions =
      std::ranges::count_if(options.augmentations, [](const Augmentation& augmentation) {
        return std::holds_alternative<PhotoMetricDistortion>(augmentation);
      });
  if (!is_float && num_distortions > 0) {
    throw Error(ErrorCode::invalid_argument,
                "PhotoMetricDistortion changes floats, which no transform but ScalePad makes; "
                "expected a ScalePad or another augmentation");
  }
  if (is_float && std::ssize(options.augmentations) > num_distortions) {
    throw Error(ErrorCode::invalid_argument,
                "ScalePad makes floats, and this augmentation changes bytes; expected "
                "PhotoMetricDistortion alone or another transform");
  }
  if (num_distortions > 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there are {} PhotoMetricDistortions; expected one", num_distortions));
  }
}

// What comes behind the transform changes bytes, or the numbers that they become.
void check_values(const ImageOptions& options) {
  const DType dtype = options.output.dtype;
  if (dtype != DType::u16 && dtype != DType::i32) return;
  if (options.augmentations.empty() && !options.erasing) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("augmentations and RandomErasing change colours, and {} output has the "
                          "values of the file; expected none of them or a dtype of u8, f32, f16 or "
                          "bf16",
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
                "RandomErasing noise does not fit u8 output; expected noise = false or a dtype of "
                "f32, f16 or bf16");
  }
}

}  // namespace

void validate(const ImageOptions& options) {
  validate(options.transform, options.output);
  std::array<int, std::variant_size_v<Augmentation>> num_of_kind = {};
  for (const Augmentation& augmentation : options.augmentations) {
    std::visit([](const auto& a) { check(a); }, augmentation);
    if (++num_of_kind[augmentation.index()] > kStreamsPerAugmentation) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("there are more than {} augmentations of one kind", kStreamsPerAugmentation));
    }
  }
  check_floats(options);
  check_values(options);
  if (options.erasing) check(*options.erasing, options.output.dtype);
}

}  // namespace ffkit
