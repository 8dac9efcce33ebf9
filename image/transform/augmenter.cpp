#include "transform/augmenter.h"

#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>

#include "pixels/pixel_ops.h"
#include "random_numbers/random_streams.h"

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

size_t draw_one(const OneOf& options, CounterRandom& random) {
  const std::vector<double>& weights = options.weights;
  if (weights.empty()) {
    return static_cast<size_t>(random.below(std::ssize(options.augmentations)));
  }
  double rest = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    if (rest < weights[i]) return i;
    rest -= weights[i];
    last = i;
  }
  return last;  // the sum was rounded
}

CounterRandom Augmenter::Step::random_of(const SampleKey& key) const {
  if (stream != kNestedStream) return CounterRandom(key, stream);
  return CounterRandom(nested_key(key, place), stream);
}

std::vector<Augmenter::Step> Augmenter::make_steps(const std::vector<Augmentation>& augmentations,
                                                   uint64_t list) {
  std::vector<Step> steps;
  std::array<int, std::variant_size_v<AnyAugmentation>> num_of_kind = {};
  for (const Augmentation& augmentation : augmentations) {
    const size_t kind = augmentation.index();
    const int n = num_of_kind[kind]++;
    const bool has_own_stream = list == kTopPlace && kind < kFirstNestedKind;
    Step step{augmentation, augmentation_place(list, kind, n),
              has_own_stream ? augmentation_stream(kind, n) : kNestedStream};
    if (const auto* all = std::get_if<Apply>(&augmentation)) {
      step.within = make_steps(all->augmentations, step.place);
    } else if (const auto* one = std::get_if<OneOf>(&augmentation)) {
      step.within = make_steps(one->augmentations, step.place);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

Augmenter::Augmenter(const std::vector<Augmentation>& augmentations)
    : steps_(make_steps(augmentations, kTopPlace)) {}

void Augmenter::draw_ops(const SampleKey& key, ImageSize size, std::vector<PlacedOp>& ops) const {
  for (const Step& step : steps_) draw_ops(step, key, size, ops);
}

void Augmenter::draw_ops(const Step& step, const SampleKey& key, ImageSize size,
                         std::vector<PlacedOp>& ops) const {
  CounterRandom random = step.random_of(key);
  if (const auto* many = std::get_if<RandAugment>(&step.augmentation)) {
    for (int i = 0; i < many->num_ops; ++i) {
      ops.push_back({draw_op(*many, size, random), many->fill});
    }
  } else if (const auto* one = std::get_if<TrivialAugmentWide>(&step.augmentation)) {
    ops.push_back({draw_op(*one, random), one->fill});
  } else if (const auto* two = std::get_if<AutoAugment>(&step.augmentation)) {
    for (const DrawnOp& drawn : ffkit::draw_ops(*two, size, random)) {
      ops.push_back({drawn, two->fill});
    }
  } else if (const auto* apply = std::get_if<Apply>(&step.augmentation)) {
    if (random.uniform() >= apply->probability) return;
    for (const Step& inner : step.within) draw_ops(inner, key, size, ops);
  } else if (const auto* choice = std::get_if<OneOf>(&step.augmentation)) {
    draw_ops(step.within[draw_one(*choice, random)], key, size, ops);
  }
}

void Augmenter::run(const RgbImage& image, const SampleKey& key) {
  // Not where places alone are asked for.
  if (!steps_.empty()) scratch_.resize(image.num_bytes() + kScratchSlack);
  for (const Step& step : steps_) run(step, image, key);
}

void Augmenter::run(const Step& step, const RgbImage& image, const SampleKey& key) {
  CounterRandom random = step.random_of(key);
  const auto run_one = [&](const auto& options) {
    using Kind = std::remove_cvref_t<decltype(options)>;
    if constexpr (std::is_same_v<Kind, Apply>) {
      if (random.uniform() >= options.probability) return;
      for (const Step& inner : step.within) run(inner, image, key);
    } else if constexpr (std::is_same_v<Kind, OneOf>) {
      run(step.within[draw_one(options, random)], image, key);
    } else {
      apply(options, image, random);
    }
  };
  std::visit(run_one, step.augmentation);
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

void Augmenter::apply(const GaussianBlur& options, const RgbImage& image, CounterRandom& random) {
  const double sigma = random.uniform(options.sigma.min, options.sigma.max);
  if (options.kernel_size == 0) {
    blurrer_.blur_as_pillow(image, sigma);
  } else {
    blurrer_.blur_as_torchvision(image, options.kernel_size, sigma);
  }
}

void Augmenter::apply(const AutoAugment& options, const RgbImage& image, CounterRandom& random) {
  for (const DrawnOp& drawn : ffkit::draw_ops(options, {image.height, image.width}, random)) {
    apply_op(image, drawn, options.fill, scratch_.data());
  }
}

}  // namespace ffkit
