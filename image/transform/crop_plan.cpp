#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/make_error.h"
#include "random_numbers/random_streams.h"
#include "transform/picture_scaler.h"

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
  const int64_t padded_width = padding.left + width + padding.right;
  const int64_t padded_height = padding.top + height + padding.bottom;
  if (!options.pad_if_needed &&
      (padded_width < options.size.width || padded_height < options.size.height)) {
    throw error_of(ErrorCode::unsupported,
                   "with padding, the picture has {} x {} pixels, but RandomCrop needs {} x {} "
                   "pixels; give pad_if_needed=True, or resize the picture before the crop",
                   padded_width, padded_height, options.size.width, options.size.height);
  }
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
                fmt::format("the picture has {} x {} pixels; after a resize to a short side of {} "
                            "pixels, the long side would have {} pixels, more than 2^31 - 1. Give "
                            "a smaller resize, or leave the picture out",
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

namespace {

// Where the pixels of plan.box go when the window of `width` begins at (x, y) of the resized box.
ImageMap map_of(const CropPlan& plan, int x, int y, int width) {
  ImageMap map{.scale_x = static_cast<double>(plan.resized_width) / plan.box.width,
               .scale_y = static_cast<double>(plan.resized_height) / plan.box.height};
  map.offset_x = -plan.box.x * map.scale_x - x;
  map.offset_y = -plan.box.y * map.scale_y - y;
  if (plan.flip) {
    map.scale_x = -map.scale_x;
    map.offset_x = width - map.offset_x;
  }
  return map;
}

// Part of the resized box that lies in a window of the output's size, whose corner is at (x, y) of
// the box and may lie outside of it.
void take_window(CropPlan& plan, int x, int y, ImageSize size) {
  const auto width = static_cast<int>(size.width);
  plan.map = map_of(plan, x, y, width);
  const int left = std::max(x, 0);
  const int top = std::max(y, 0);
  const int num_x = std::min(x + width, plan.resized_width) - left;
  const int num_y = std::min(y + static_cast<int>(size.height), plan.resized_height) - top;
  if (num_x <= 0 || num_y <= 0) {
    // One pixel is decoded all the same: what is no picture is refused as ever.
    plan.box = {0, 0, 1, 1};
    plan.resized_width = 1;
    plan.resized_height = 1;
    return;
  }
  plan.taken = {left, top, num_x, num_y};
  plan.x = plan.flip ? width - (left - x) - num_x : left - x;
  plan.y = top - y;
}

// The same where the window is within the box, or around it.
CropPlan with_map(CropPlan plan, ImageSize size) {
  plan.map =
      map_of(plan, plan.taken.x - plan.x, plan.taken.y - plan.y, static_cast<int>(size.width));
  return plan;
}

int scaled_length(int length, double factor) {
  return std::max(1, static_cast<int>(length * factor));
}

CropPlan whole(int width, int height) {
  return {.box = {0, 0, width, height}, .resized_width = width, .resized_height = height};
}

}  // namespace

ImageSize resized_size(const Resize& resize, int width, int height) {
  if (resize.size.both) return *resize.size.both;
  // torchvision's _compute_resized_output_size().
  const int longest = std::max(width, height);
  int64_t shorter = resize.size.short_side;
  auto longer =
      static_cast<int64_t>(static_cast<double>(shorter * longest) / std::min(width, height));
  if (shorter == 0) {
    longer = resize.max_size;
    shorter = static_cast<int64_t>(static_cast<double>(longer * std::min(width, height)) / longest);
  } else if (resize.max_size > 0 && longer > resize.max_size) {
    shorter = static_cast<int64_t>(static_cast<double>(resize.max_size * shorter) /
                                   static_cast<double>(longer));
    longer = resize.max_size;
  }
  shorter = std::max<int64_t>(shorter, 1);
  return width <= height ? ImageSize{longer, shorter} : ImageSize{shorter, longer};
}

CropPlan plan_resize(int width, int height, ImageSize size, Interpolation interpolation) {
  CropPlan plan = whole(width, height);
  plan.resized_width = static_cast<int>(size.width);
  plan.resized_height = static_cast<int>(size.height);
  plan.taken = {0, 0, plan.resized_width, plan.resized_height};
  plan.interpolation = interpolation;
  return with_map(plan, size);
}

CropPlan plan_window(int width, int height, int x, int y, ImageSize size, RgbColor fill) {
  CropPlan plan = whole(width, height);
  plan.fill = fill;
  take_window(plan, x, y, size);
  return plan;
}

CropPlan plan_crop(const RandomResizedCrop& crop, int width, int height, const SampleKey& key) {
  CounterRandom random(key, kCropStream);
  const DrawnCrop drawn = draw_crop(crop, width, height, random);
  const auto out_width = static_cast<int>(crop.size.width);
  const auto out_height = static_cast<int>(crop.size.height);
  const CropPlan plan{.box = drawn.rect,
                      .resized_width = out_width,
                      .resized_height = out_height,
                      .taken = {0, 0, out_width, out_height},
                      .flip = drawn.flip,
                      .interpolation = crop.interpolation,
                      .may_scale_decode = crop.scaled_decode,
                      .is_cropped_first = true};
  return with_map(plan, crop.size);
}

CropPlan plan_crop(const ResizeCenterCrop& crop, int width, int height, const SampleKey& /*key*/) {
  const CenterCropGeometry geometry = center_crop_geometry(crop, width, height);
  CropPlan plan = whole(width, height);
  plan.resized_width = geometry.resized_width;
  plan.resized_height = geometry.resized_height;
  plan.taken = geometry.taken;
  plan.x = geometry.pad_x;
  plan.y = geometry.pad_y;
  plan.interpolation = crop.interpolation;
  return with_map(plan, crop.size);
}

CropPlan plan_crop(const Resize& resize, int width, int height, const SampleKey& /*key*/) {
  return plan_resize(width, height, resized_size(resize, width, height), resize.interpolation);
}

CropPlan plan_crop(const RandomCrop& crop, int width, int height, const SampleKey& key) {
  CounterRandom random(key, kCropStream);
  const DrawnCrop drawn = draw_crop(crop, width, height, random);
  CropPlan plan = whole(width, height);
  plan.flip = drawn.flip;
  plan.fill = crop.fill;
  take_window(plan, drawn.rect.x, drawn.rect.y, crop.size);
  return plan;
}

CropPlan plan_crop(const ResizeCrop& crop, int width, int height, const SampleKey& key) {
  CounterRandom random(key, kCropStream);
  const DrawnResizeCrop drawn = draw_crop(crop, width, height, random);
  CropPlan plan = whole(width, height);
  plan.resized_width = drawn.resized_width;
  plan.resized_height = drawn.resized_height;
  plan.flip = drawn.flip;
  plan.interpolation = crop.interpolation;
  plan.may_scale_decode = crop.scaled_decode;
  take_window(plan, drawn.x, drawn.y, crop.size);
  return plan;
}

CropPlan plan_crop(const ScalePad& pad, int width, int height, const SampleKey& /*key*/) {
  CropPlan plan = whole(width, height);
  plan.resized_width = scaled_length(width, pad.factor);
  plan.resized_height = scaled_length(height, pad.factor);
  if (plan.resized_width > pad.size.width || plan.resized_height > pad.size.height) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "the picture of {} x {} pixels becomes {} x {} pixels with ScalePad's factor {:g}, but "
            "ScalePad's size is {} x {} pixels; give a larger size or a smaller factor",
            width, height, plan.resized_width, plan.resized_height, pad.factor, pad.size.width,
            pad.size.height));
  }
  plan.taken = {0, 0, plan.resized_width, plan.resized_height};
  return with_map(plan, pad.size);
}

ImageMap image_map(const ResizeCrop& crop, int width, int height, const SampleKey& key) {
  return plan_crop(crop, width, height, key).map;
}

}  // namespace ffkit
