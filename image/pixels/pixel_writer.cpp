#include <array>

#include "format/schema/element.h"
#include "pixels/pixel_kernels.h"

namespace ffkit {
namespace {

struct ChannelScale {
  float scale;
  float bias;
};

// Of values up to `white`.
ChannelScale scale_of(const ImageOutput& output, size_t channel, double white) {
  const double std = output.normalize ? output.std[channel] : 1.0;
  const double mean = output.normalize ? output.mean[channel] : 0.0;
  return {static_cast<float>(1.0 / (white * std)), static_cast<float>(-mean / std)};
}

template <typename Element, typename Pixel, typename Convert>
void write_wide(const Pixel* pixels, ImageSize size, Layout layout, void* out,
                const Convert& convert) {
  const int64_t num_pixels = size.height * size.width;
  const int64_t pixel_step = layout == Layout::nchw ? 1 : 3;
  const int64_t channel_step = layout == Layout::nchw ? num_pixels : 1;
  auto* const elements = static_cast<Element*>(out);
  for (int64_t i = 0; i < num_pixels; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      elements[i * pixel_step + c * channel_step] =
          convert(pixels[3 * i + c], static_cast<size_t>(c));
    }
  }
}

template <typename Element, typename Pixel>
void write_numbers(const Pixel* pixels, ImageSize size, Layout layout, void* out) {
  write_wide<Element>(pixels, size, layout, out,
                      [](Pixel value, size_t) { return static_cast<Element>(value); });
}

}  // namespace

RowScale::RowScale(int64_t width, const ImageOutput& output) {
  const size_t num_values = 3 * static_cast<size_t>(width);
  scale.resize(num_values + kMaxLanes);
  bias.resize(num_values + kMaxLanes);
  for (size_t i = 0; i < num_values; ++i) {
    const size_t channel = output.layout == Layout::nchw ? i / static_cast<size_t>(width) : i % 3;
    const ChannelScale of_channel = scale_of(output, channel, 255);
    scale[i] = of_channel.scale;
    bias[i] = of_channel.bias;
  }
}

PixelWriter::PixelWriter(ImageSize size, const ImageOutput& output)
    : size_(size), output_(output), scale_(size.width, output) {}

void PixelWriter::set_size(ImageSize size) {
  if (size == size_) return;
  size_ = size;
  scale_ = RowScale(size.width, output_);
}

void PixelWriter::run(const uint8_t* pixels, ptrdiff_t stride, void* out) const {
  const auto width = static_cast<size_t>(size_.width);
  const size_t row_values = output_.layout == Layout::nchw ? width : 3 * width;
  WriteJob job;
  job.pixels = pixels;
  job.stride = stride;
  job.width = width;
  job.height = static_cast<size_t>(size_.height);
  job.layout = output_.layout;
  job.dtype = output_.dtype;
  job.scale = scale_.scale.data();
  job.bias = scale_.bias.data();
  job.out = out;
  job.out_stride_bytes = static_cast<ptrdiff_t>(row_values * size_of(output_.dtype));
  job.plane_values = width * job.height;
  write_pixels(job);
}

void WideWriter::run(const uint16_t* pixels, void* out) const {
  constexpr double kWhite = 65535;
  const std::array scales = {scale_of(output_, 0, kWhite), scale_of(output_, 1, kWhite),
                             scale_of(output_, 2, kWhite)};
  const auto scaled = [&](uint16_t value, size_t c) {
    return static_cast<float>(value) * scales[c].scale + scales[c].bias;
  };
  switch (output_.dtype) {
    case DType::u16:
      return write_numbers<uint16_t>(pixels, size_, output_.layout, out);
    case DType::i32:
      return write_numbers<int32_t>(pixels, size_, output_.layout, out);
    case DType::f16:
      return write_wide<uint16_t>(
          pixels, size_, output_.layout, out,
          [&](uint16_t value, size_t c) { return to_f16(scaled(value, c)); });
    case DType::bf16:
      return write_wide<uint16_t>(
          pixels, size_, output_.layout, out,
          [&](uint16_t value, size_t c) { return to_bf16(scaled(value, c)); });
    default:
      return write_wide<float>(pixels, size_, output_.layout, out, scaled);
  }
}

void WideWriter::run(const uint8_t* pixels, void* out) const {
  if (output_.dtype == DType::u16) {
    write_numbers<uint16_t>(pixels, size_, output_.layout, out);
  } else {
    write_numbers<int32_t>(pixels, size_, output_.layout, out);
  }
}

}  // namespace ffkit
