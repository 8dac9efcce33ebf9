#include <cstddef>
#include <cstring>
#include <utility>

#include "pixels/pixel_kernels.h"
#include "transform/picture_scaler.h"

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

FloatScaler::FloatScaler(ImageSize size, const ImageOutput& output)
    : size_(size),
      output_(output),
      element_bytes_(size_of(output.dtype)),
      scale_(size.width, output) {}

void FloatScaler::run(const RgbView& pixels, int width, int height, const RowDistortion* distortion,
                      void* out) {
  distortion_ = distortion;
  axis_x_.build(pixels.width, width);
  axis_y_.build(pixels.height, height);
  floats_y_ = {-1, -1};
  const size_t num_floats = 3 * float_row_stride(pixels.width);
  for (auto& rows : floats_) rows.resize(num_floats);
  blended_.resize(num_floats);
  scaled_.resize(3 * float_row_stride(width));
  interleaved_.resize(3 * float_row_stride(width));

  auto* const to = static_cast<std::byte*>(out);
  for (int y = 0; y < height; ++y) write(scaled_row(pixels, y), width, y, to);
  clear_around(width, height, to);
}

void FloatScaler::clear_around(int width, int height, std::byte* out) const {
  const bool is_planar = output_.layout == Layout::nchw;
  const size_t pixel_bytes = element_bytes_ * (is_planar ? 1 : 3);
  const size_t row_bytes = pixel_bytes * static_cast<size_t>(size_.width);
  const size_t used_bytes = pixel_bytes * static_cast<size_t>(width);
  for (int plane = 0; plane < (is_planar ? 3 : 1); ++plane) {
    for (int64_t y = 0; y < size_.height; ++y, out += row_bytes) {
      const size_t kept = y < height ? used_bytes : 0;
      std::memset(out + kept, 0, row_bytes - kept);
    }
  }
}

const float* FloatScaler::floats_of(const RgbView& pixels, int y) {
  const auto place = static_cast<size_t>(y % 2);
  float* const rows = floats_[place].data();
  if (floats_y_[place] != y) {
    split_row(pixels.data + y * pixels.stride, pixels.width, rows);
    if (distortion_ != nullptr) {
      distort_rows(rows, float_row_stride(pixels.width), static_cast<size_t>(pixels.width),
                   *distortion_);
    }
    floats_y_[place] = y;
  }
  return rows;
}

const float* FloatScaler::scaled_row(const RgbView& pixels, int y) {
  const int first = axis_y_.index()[y];
  const float weight = axis_y_.weight()[y];
  const float* rows = nullptr;
  if (weight == 0 || weight == 1) {
    rows = floats_of(pixels, weight == 0 ? first : first + 1);
  } else {
    blend_rows(floats_of(pixels, first), floats_of(pixels, first + 1), weight, blended_.size(),
               blended_.data());
    rows = blended_.data();
  }
  if (axis_x_.is_same()) return rows;
  const size_t from_stride = float_row_stride(pixels.width);
  const size_t to_stride = float_row_stride(axis_x_.num_outputs());
  for (size_t c = 0; c < 3; ++c) {
    resample_row(rows + c * from_stride, axis_x_, &scaled_[c * to_stride]);
  }
  return scaled_.data();
}

void FloatScaler::write(const float* rows, int width, int y, std::byte* out) {
  const auto num_pixels = static_cast<size_t>(width);
  const auto out_width = static_cast<size_t>(size_.width);
  const size_t row_values = out_width * static_cast<size_t>(y);
  if (output_.layout == Layout::nhwc) {
    interleave_rows(rows, width, interleaved_.data());
    store_row(interleaved_.data(), scale_.scale.data(), scale_.bias.data(), 3 * num_pixels,
              output_.dtype, out + 3 * row_values * element_bytes_);
    return;
  }
  const size_t plane_values = out_width * static_cast<size_t>(size_.height);
  for (size_t c = 0; c < 3; ++c) {
    store_row(rows + c * float_row_stride(width), &scale_.scale[c * out_width],
              &scale_.bias[c * out_width], num_pixels, output_.dtype,
              out + (c * plane_values + row_values) * element_bytes_);
  }
}

}  // namespace ffkit
