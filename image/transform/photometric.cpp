#include "transform/photometric.h"

#include <cstddef>
#include <utility>

namespace ffkit {

RowDistortion draw_distortion(const PhotoMetricDistortion& options, CounterRandom& random) {
  constexpr double kDegreesOfATurn = 60;
  const auto is_done = [&] { return random.below(2) == 1; };
  const auto draw = [&](double min, double max) {
    return static_cast<float>(random.uniform(min, max));
  };
  RowDistortion drawn;
  if (is_done()) drawn.brightness = draw(-options.brightness_delta, options.brightness_delta);
  const bool is_contrast_first = is_done();
  if (is_done()) {
    (is_contrast_first ? drawn.contrast_before : drawn.contrast_after) =
        draw(options.contrast.min, options.contrast.max);
  }
  if (is_done()) drawn.saturation = draw(options.saturation.min, options.saturation.max);
  if (is_done()) {
    const double turns = options.hue_delta / kDegreesOfATurn;
    drawn.hue = draw(-turns, turns);
  }
  if (is_done()) {
    for (size_t i = drawn.channels.size() - 1; i > 0; --i) {
      const auto other = static_cast<size_t>(random.below(static_cast<int64_t>(i) + 1));
      std::swap(drawn.channels[i], drawn.channels[other]);
    }
  }
  return drawn;
}

}  // namespace ffkit
