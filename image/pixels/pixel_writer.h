// Finished pixels into their place in the batch: normalised, converted, laid out in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/image/image_output.h>
#include <ffkit/image/rgb_image.h>

#include "resize/resize_kernels.h"

namespace ffkit {

// What turns the 8-bit values of one row of an output picture into its elements: value * scale +
// bias. In the order of a row of the layout, [width][3]; or, where all of a row belong to one
// channel, [3][width]. kMaxLanes more may be read behind the end.
struct RowScale {
  RowScale(int64_t width, const ImageOutput& output);

  std::vector<float> scale;
  std::vector<float> bias;
};

// The same values to the bit as Resizer writes for the same pixels. run() is thread-safe.
class PixelWriter {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate().
  PixelWriter(ImageSize size, const ImageOutput& output);

  void set_size(ImageSize size);

  // `pixels`: [height, width, 3] RGB, rows `stride` bytes apart; 64 bytes behind the last one may
  // be read.
  void run(const uint8_t* pixels, ptrdiff_t stride, void* out) const;

 private:
  ImageSize size_;
  ImageOutput output_;
  RowScale scale_;
};

// Whether the batch has numbers, whose values are kept, and not colours.
inline bool has_numbers(const ImageOutput& output) {
  return output.dtype == DType::u16 || output.dtype == DType::i32;
}

// Pixels of 16 bits; and those of 8 bits where the batch has numbers. Thread-safe.
class WideWriter {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate().
  WideWriter(ImageSize size, const ImageOutput& output) : size_(size), output_(output) {}

  // [height, width, 3] without gaps. u16 and i32 are the values themselves; f16, bf16 and f32 are
  // value / 65535, normalised where the output is. u8 is no output of pixels of 16 bits.
  void run(const uint16_t* pixels, void* out) const;
  // u16 and i32 only.
  void run(const uint8_t* pixels, void* out) const;

 private:
  ImageSize size_;
  ImageOutput output_;
};

}  // namespace ffkit
