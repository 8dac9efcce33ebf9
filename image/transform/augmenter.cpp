#include "transform/augmenter.h"

#include <utility>

#include "pixels/pixel_ops.h"
#include "random_numbers/random_streams.h"
#include "transform/auto_augment.h"

namespace ffkit {
namespace {

enum JitterStep : uint8_t { kBrightness, kContrast, kSaturation, kHue };

}  // namespace

DrawnJitter draw_jitter(const ColorJitter& options, CounterRandom& random) {
  DrawnJitter drawn;
  for (size_t i = drawn.order.size() - 1; i > 0; --i) {
    const auto other = static_cast<size_t>(random.below(static_cast<int64_t>(i) + 1));
    std::swap(drawn.order[i], drawn.order[other]);
  }
  drawn.brightness = random.uniform(options.brightness.min, options.brightness.max);
  drawn.contrast = random.uniform(options.contrast.min, options.contrast.max);
  drawn.saturation = random.uniform(options.saturation.min, options.saturation.max);
  drawn.hue = random.uniform(options.hue.min, options.hue.max);
  return drawn;
}

Augmenter::Augmenter(const std::vector<Augmentation>& augmentations, ImageSize size) {
  if (augmentations.empty()) return;
  std::array<int, std::variant_size_v<Augmentation>> num_of_kind = {};
  for (const Augmentation& augmentation : augmentations) {
    const size_t kind = augmentation.index();
    steps_.push_back({augmentation, augmentation_stream(kind, num_of_kind[kind]++)});
  }
  scratch_.resize(static_cast<size_t>(3 * size.height * size.width) + kScratchSlack);
}

void Augmenter::run(const RgbImage& image, const SampleKey& key) {
  for (const Step& step : steps_) {
    CounterRandom random(key, step.stream);
    std::visit([&](const auto& options) { apply(options, image, random); }, step.augmentation);
  }
}

void Augmenter::apply(const ColorJitter& options, const RgbImage& image, CounterRandom& random) {
  const auto changes = [](const auto& range, double nothing) {
    return range.min != nothing || range.max != nothing;
  };
  const DrawnJitter drawn = draw_jitter(options, random);
  for (const uint8_t step : drawn.order) {
    if (step == kBrightness && changes(options.brightness, 1)) {
      adjust_brightness(image, drawn.brightness);
    } else if (step == kContrast && changes(options.contrast, 1)) {
      adjust_contrast(image, drawn.contrast);
    } else if (step == kSaturation && changes(options.saturation, 1)) {
      adjust_saturation(image, drawn.saturation);
    } else if (step == kHue && changes(options.hue, 0)) {
      adjust_hue(image, drawn.hue);
    }
  }
}

void Augmenter::apply(const RandAugment& options, const RgbImage& image, CounterRandom& random) {
  for (int i = 0; i < options.num_ops; ++i) {
    const DrawnOp drawn = draw_op(options, {image.height, image.width}, random);
    apply_op(image, drawn, options.fill, scratch_.data());
  }
}

void Augmenter::apply(const TrivialAugmentWide& options, const RgbImage& image,
                      CounterRandom& random) {
  apply_op(image, draw_op(options, random), options.fill, scratch_.data());
}

void Augmenter::apply(const std::shared_ptr<const PixelTransform>& transform, const RgbImage& image,
                      CounterRandom& random) {
  transform->apply(image, random);
}

}  // namespace ffkit
