#include "transform/crop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <ffkit/base/error.h>

#include "random_numbers/random_streams.h"

namespace ffkit {
namespace {

// Python's round(): halves go to the even number, as nearbyint does in the default rounding mode.
int round_half_even(double value) {
  return static_cast<int>(std::nearbyint(value));
}

Rect central_crop(const RandomResizedCrop& options, int width, int height) {
  const double ratio = static_cast<double>(width) / height;
  int w = width;
  int h = height;
  if (ratio < options.ratio_min) {
    h = round_half_even(w / options.ratio_min);
  } else if (ratio > options.ratio_max) {
    w = round_half_even(h * options.ratio_max);
  }
  // torchvision would hand a zero on to the resize, which fails; only for pictures one pixel thin.
  w = std::max(w, 1);
  h = std::max(h, 1);
  return {(width - w) / 2, (height - h) / 2, w, h};
}

Rect draw_rect(const RandomResizedCrop& options, int width, int height, CounterRandom& random) {
  constexpr int kTries = 10;
  const double area = static_cast<double>(width) * height;
  const double log_ratio_min = std::log(options.ratio_min);
  const double log_ratio_max = std::log(options.ratio_max);
  for (int i = 0; i < kTries; ++i) {
    const double target_area = area * random.uniform(options.scale_min, options.scale_max);
    const double ratio = std::exp(random.uniform(log_ratio_min, log_ratio_max));
    const double w = std::nearbyint(std::sqrt(target_area * ratio));
    const double h = std::nearbyint(std::sqrt(target_area / ratio));
    if (w > 0 && w <= width && h > 0 && h <= height) {
      Rect rect{0, 0, static_cast<int>(w), static_cast<int>(h)};
      rect.y = static_cast<int>(random.below(height - rect.height + 1));
      rect.x = static_cast<int>(random.below(width - rect.width + 1));
      return rect;
    }
  }
  return central_crop(options, width, height);
}

// One axis of torchvision's RandomCrop: where the crop begins, in the picture's coordinates.
int draw_first(int64_t length, int64_t before, int64_t after, int64_t crop, CounterRandom& random) {
  const int64_t missing = std::max(int64_t{0}, crop - (before + length + after));
  before += missing;
  after += missing;
  return static_cast<int>(random.below(before + length + after - crop + 1) - before);
}

// One axis of torchvision's CenterCrop.
void center(int resized, int size, int& first, int& count, int& pad) {
  count = std::min(resized, size);
  pad = std::max(0, size - resized) / 2;
  first = resized > size ? round_half_even((resized - size) / 2.0) : 0;
}

}  // namespace

DrawnCrop draw_crop(const RandomResizedCrop& options, int width, int height,
                    CounterRandom& random) {
  DrawnCrop crop;
  crop.rect = draw_rect(options, width, height, random);
  crop.flip = random.uniform() < options.flip_probability;
  return crop;
}

DrawnCrop draw_crop(const RandomCrop& options, int width, int height, CounterRandom& random) {
  const Padding& padding = options.padding;
  DrawnCrop crop;
  crop.rect.y = draw_first(height, padding.top, padding.bottom, options.size.height, random);
  crop.rect.x = draw_first(width, padding.left, padding.right, options.size.width, random);
  crop.rect.width = static_cast<int>(options.size.width);
  crop.rect.height = static_cast<int>(options.size.height);
  crop.flip = random.uniform() < options.flip_probability;
  return crop;
}

DrawnResizeCrop draw_crop(const ResizeCrop& options, int width, int height, CounterRandom& random) {
  DrawnResizeCrop drawn;
  const double factor = random.uniform(options.factor_min, options.factor_max);
  drawn.resized_width = std::max(1, static_cast<int>(width * factor));
  drawn.resized_height = std::max(1, static_cast<int>(height * factor));
  const int across = std::max(0, drawn.resized_width - static_cast<int>(options.size.width));
  const double place = random.uniform();
  drawn.x = options.centered ? across / 2 : static_cast<int>(place * across);
  const double bottom = random.uniform(options.bottom_min, options.bottom_max);
  drawn.y =
      static_cast<int>((1 - bottom) * drawn.resized_height) - static_cast<int>(options.size.height);
  drawn.flip = random.uniform() < options.flip_probability;
  return drawn;
}

ImageMap image_map(const ScalePad& pad) {
  return {.scale_x = pad.factor, .scale_y = pad.factor};
}

CenterCropGeometry center_crop_geometry(const ResizeCenterCrop& options, int width, int height) {
  // torchvision: int(size * long / short), which truncates.
  const int64_t long_side = options.resize * std::max(width, height) / std::min(width, height);
  if (long_side > std::numeric_limits<int>::max()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the picture of {} x {} pixels, resized to {} at its short side, would "
                            "be {} pixels long; at most 2^31 - 1 can be, so give a smaller resize "
                            "or leave the picture out",
                            width, height, options.resize, long_side));
  }
  const auto short_pixels = static_cast<int>(options.resize);
  const auto long_pixels = static_cast<int>(long_side);
  CenterCropGeometry geometry;
  geometry.resized_width = width <= height ? short_pixels : long_pixels;
  geometry.resized_height = width <= height ? long_pixels : short_pixels;
  Rect& taken = geometry.taken;
  center(geometry.resized_width, static_cast<int>(options.size.width), taken.x, taken.width,
         geometry.pad_x);
  center(geometry.resized_height, static_cast<int>(options.size.height), taken.y, taken.height,
         geometry.pad_y);
  return geometry;
}

}  // namespace ffkit
