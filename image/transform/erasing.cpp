#include <algorithm>
#include <cmath>
#include <numbers>

#include "format/schema/element.h"
#include "transform/augmenter.h"

namespace ffkit {
namespace {

// Standard normal numbers, two of each 64-bit number (Box and Muller, "A note on the generation of
// random normal deviates", 1958).
class NormalNoise {
 public:
  explicit NormalNoise(CounterRandom& random) : random_(random) {}

  float operator()() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    const uint64_t bits = random_.next();
    // (0, 1] for the logarithm, [0, 1) for the angle.
    const float u = static_cast<float>((bits & 0xFFFFFFU) + 1) * 0x1p-24F;
    const float angle = static_cast<float>(bits >> 40) * 0x1p-24F * 2 * std::numbers::pi_v<float>;
    const float radius = std::sqrt(-2 * std::log(u));
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  CounterRandom& random_;
  float second_ = 0;
  bool has_second_ = false;
};

template <typename Element, typename Convert>
void erase_as(const RandomErasing& options, const ImageOutput& output, ImageSize size,
              const Rect& rect, CounterRandom& random, void* image, const Convert& convert) {
  const bool is_planar = output.layout == Layout::nchw;
  const ptrdiff_t pixel_values = is_planar ? 1 : 3;
  const ptrdiff_t row_values = size.width * pixel_values;
  const ptrdiff_t num_planes = is_planar ? 3 : 1;
  const Element value = convert(options.value);
  NormalNoise noise(random);
  for (ptrdiff_t plane = 0; plane < num_planes; ++plane) {
    auto* row = static_cast<Element*>(image) + (plane * size.height + rect.y) * row_values +
                rect.x * pixel_values;
    for (int y = 0; y < rect.height; ++y, row += row_values) {
      const ptrdiff_t count = rect.width * pixel_values;
      if (options.noise) {
        std::generate_n(row, count, [&] { return convert(noise()); });
      } else {
        std::fill_n(row, count, value);
      }
    }
  }
}

}  // namespace

Rect draw_erasing(const RandomErasing& options, ImageSize size, CounterRandom& random) {
  constexpr int kTries = 10;
  if (!(random.uniform() < options.probability)) return {};
  const auto area = static_cast<double>(size.height * size.width);
  const double log_ratio_min = std::log(options.ratio_min);
  const double log_ratio_max = std::log(options.ratio_max);
  for (int i = 0; i < kTries; ++i) {
    const double erased = area * random.uniform(options.scale_min, options.scale_max);
    const double ratio = std::exp(random.uniform(log_ratio_min, log_ratio_max));
    // Python's round(): halves to even.
    const double height = std::nearbyint(std::sqrt(erased * ratio));
    const double width = std::nearbyint(std::sqrt(erased / ratio));
    if (height >= static_cast<double>(size.height) || width >= static_cast<double>(size.width)) {
      continue;
    }
    Rect rect{0, 0, static_cast<int>(width), static_cast<int>(height)};
    rect.y = static_cast<int>(random.below(size.height - rect.height + 1));
    rect.x = static_cast<int>(random.below(size.width - rect.width + 1));
    return rect;
  }
  return {};
}

void erase(const RandomErasing& options, const ImageOutput& output, ImageSize size,
           ImageSize picture, CounterRandom& random, void* image) {
  const Rect rect = draw_erasing(options, picture, random);
  if (rect.width == 0) return;
  switch (output.dtype) {
    case DType::u8:
      return erase_as<uint8_t>(options, output, size, rect, random, image, to_u8);
    case DType::f16:
      return erase_as<uint16_t>(options, output, size, rect, random, image, to_f16);
    case DType::bf16:
      return erase_as<uint16_t>(options, output, size, rect, random, image, to_bf16);
    default:
      return erase_as<float>(options, output, size, rect, random, image,
                             [](float value) { return value; });
  }
}

}  // namespace ffkit
