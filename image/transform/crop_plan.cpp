#include "transform/crop_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/base/error.h>

#include "random_numbers/random_streams.h"
#include "transform/crop.h"

namespace ffkit {
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
  return plan_resize(width, height, resize.size, resize.interpolation);
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
        fmt::format("the picture of {} x {} pixels has {} x {} after a ScalePad's factor of "
                    "{:g}, more than its size of {} x {}; give a larger size or a smaller "
                    "factor",
                    width, height, plan.resized_width, plan.resized_height, pad.factor,
                    pad.size.width, pad.size.height));
  }
  plan.taken = {0, 0, plan.resized_width, plan.resized_height};
  return with_map(plan, pad.size);
}

ImageMap image_map(const ResizeCrop& crop, int width, int height, const SampleKey& key) {
  return plan_crop(crop, width, height, key).map;
}

}  // namespace ffkit
