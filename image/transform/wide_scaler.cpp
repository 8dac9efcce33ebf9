#include "transform/wide_scaler.h"

#include <algorithm>

#include "resize/opencv_resize.h"
#include "resize/resample_passes.h"

namespace ffkit {
namespace {

// Pillow's ROUND_UP(), then into range.
uint16_t to_u16(double sum) {
  return static_cast<uint16_t>(
      std::clamp(static_cast<int>(sum >= 0 ? sum + 0.5 : sum - 0.5), 0, 65535));
}

}  // namespace

void WideResizer::Axis::build(const AxisStretch& stretch, Interpolation interpolation) {
  begin = stretch.in_size;
  end = 0;
  taps.clear();
  weights.clear();
  const auto add = [this](int, int first, std::span<const double> of_output) {
    const auto count = static_cast<int>(of_output.size());
    taps.push_back({first, weights.size(), count});
    weights.insert(weights.end(), of_output.begin(), of_output.end());
    begin = std::min(begin, first);
    end = std::max(end, first + count);
  };
  if (interpolation == Interpolation::bicubic) {
    for_each_output(CubicFilter(), stretch, scratch, add);
  } else {
    for_each_output(TriangleFilter(), stretch, scratch, add);
  }
  for (Taps& one : taps) one.first -= begin;
}

Rect WideResizer::plan(int width, int height, int resized_width, int resized_height,
                       const Rect& taken, Interpolation interpolation) {
  x_.build({width, 0, static_cast<double>(width), resized_width, taken.x, taken.width},
           interpolation);
  y_.build({height, 0, static_cast<double>(height), resized_height, taken.y, taken.height},
           interpolation);
  is_vertical_first_ = is_vertical_first(width, height, resized_width, resized_height);
  return {x_.begin, y_.begin, x_.end - x_.begin, y_.end - y_.begin};
}

void WideResizer::run(const WideRgbView& pixels, uint16_t* out) {
  const auto width = static_cast<int>(x_.taps.size());
  const auto height = static_cast<int>(y_.taps.size());
  const int between_width = is_vertical_first_ ? pixels.width : width;
  const int between_height = is_vertical_first_ ? height : pixels.height;
  between_.resize(size_t{3} * static_cast<size_t>(between_width) *
                  static_cast<size_t>(between_height));
  const WideRgbView between{between_.data(), between_width, between_height,
                            ptrdiff_t{3} * between_width};
  if (is_vertical_first_) {
    vertical(pixels, y_, between_.data());
    horizontal(between, x_, out);
  } else {
    horizontal(pixels, x_, between_.data());
    vertical(between, y_, out);
  }
}

void WideResizer::horizontal(const WideRgbView& pixels, const Axis& axis, uint16_t* out) {
  for (int y = 0; y < pixels.height; ++y) {
    for (const Axis::Taps& taps : axis.taps) {
      const uint16_t* const in = pixels.data + y * pixels.stride + ptrdiff_t{3} * taps.first;
      for (int c = 0; c < 3; ++c) {
        double sum = 0;
        for (int k = 0; k < taps.count; ++k) {
          sum += in[3 * k + c] * axis.weights[taps.offset + static_cast<size_t>(k)];
        }
        *out++ = to_u16(sum);
      }
    }
  }
}

void WideResizer::vertical(const WideRgbView& pixels, const Axis& axis, uint16_t* out) {
  for (const Axis::Taps& taps : axis.taps) {
    for (int i = 0; i < 3 * pixels.width; ++i) {
      const uint16_t* const in = pixels.data + taps.first * pixels.stride + i;
      double sum = 0;
      for (int k = 0; k < taps.count; ++k) {
        sum += in[k * pixels.stride] * axis.weights[taps.offset + static_cast<size_t>(k)];
      }
      *out++ = to_u16(sum);
    }
  }
}

// White is 65535 where the output is a share of it. A number that fills a map of labels stays that
// number.
WideScaler::WideScaler(Interpolation interpolation, ImageSize size, const ImageOutput& output)
    : interpolation_(interpolation),
      size_(size),
      fill_factor_(has_numbers(output) ? 1 : 257),
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
