#include "pixels/wide_writer.h"

#include <array>

#include "format/schema/element.h"

namespace ffkit {
namespace {

// value * scale + bias, as RowScale has it for 8 bits.
struct ChannelScale {
  explicit ChannelScale(const ImageOutput& output) {
    for (size_t c = 0; c < 3; ++c) {
      const double std = output.normalize ? output.std[c] : 1.0;
      const double mean = output.normalize ? output.mean[c] : 0.0;
      scale[c] = static_cast<float>(1.0 / (65535.0 * std));
      bias[c] = static_cast<float>(-mean / std);
    }
  }
  std::array<float, 3> scale;
  std::array<float, 3> bias;
};

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

void WideWriter::run(const uint16_t* pixels, void* out) const {
  const ChannelScale scale(output_);
  const auto scaled = [&](uint16_t value, size_t c) {
    return static_cast<float>(value) * scale.scale[c] + scale.bias[c];
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
