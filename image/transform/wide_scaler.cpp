#include "transform/wide_scaler.h"

#include <algorithm>

#include "resize/opencv_resize.h"

namespace ffkit {
namespace {

bool is_of_numbers(const ImageOutput& output) {
  return output.dtype == DType::u16 || output.dtype == DType::i32;
}

}  // namespace

// White is 65535 where the output is a share of it. A number that fills a map of labels stays that
// number.
WideScaler::WideScaler(Interpolation interpolation, ImageSize size, const ImageOutput& output)
    : interpolation_(interpolation),
      size_(size),
      fill_factor_(is_of_numbers(output) ? 1 : 257),
      writer_(size, output) {}

Rect WideScaler::wanted(const CropPlan& plan) {
  if (plan.taken.width == 0) return plan.box;
  Rect part = plan.taken;
  if (plan.resizes()) {
    if (interpolation_ == Interpolation::opencv_bilinear) return plan.box;
    part = resizer_.plan(plan.box.width, plan.box.height, plan.resized_width, plan.resized_height,
                         plan.taken, interpolation_);
  }
  return {plan.box.x + part.x, plan.box.y + part.y, part.width, part.height};
}

WideRgbView WideScaler::taken_pixels(const WideRgbView& pixels, const CropPlan& plan) {
  if (!plan.resizes()) return pixels;
  const Rect& taken = plan.taken;
  if (interpolation_ == Interpolation::opencv_bilinear) {
    const ptrdiff_t stride = ptrdiff_t{3} * plan.resized_width;
    resized_.resize(static_cast<size_t>(stride) * static_cast<size_t>(plan.resized_height));
    resize_by_opencv(pixels, plan.resized_width, plan.resized_height, resized_.data());
    return {resized_.data() + taken.y * stride + ptrdiff_t{3} * taken.x, taken.width, taken.height,
            stride};
  }
  const ptrdiff_t stride = ptrdiff_t{3} * taken.width;
  resized_.resize(static_cast<size_t>(stride) * static_cast<size_t>(taken.height));
  resizer_.run(pixels, resized_.data());
  return {resized_.data(), taken.width, taken.height, stride};
}

void WideScaler::run(const WideRgbView& pixels, const CropPlan& plan, void* out) {
  const auto num_pixels = static_cast<size_t>(size_.width * size_.height);
  placed_.resize(3 * num_pixels);
  for (size_t i = 0; i < placed_.size(); ++i) {
    placed_[i] = static_cast<uint16_t>(plan.fill[i % 3] * fill_factor_);
  }
  if (plan.taken.width > 0) {
    const WideRgbView taken = taken_pixels(pixels, plan);
    for (int y = 0; y < taken.height; ++y) {
      const uint16_t* const from = taken.data + y * taken.stride;
      uint16_t* const to =
          placed_.data() + 3 * ((plan.y + y) * static_cast<ptrdiff_t>(size_.width) + plan.x);
      for (int x = 0; x < taken.width; ++x) {
        std::copy_n(from + 3 * x, 3, to + 3 * (plan.flip ? taken.width - 1 - x : x));
      }
    }
  }
  writer_.run(placed_.data(), out);
}

}  // namespace ffkit
