// WideWriter: finished pixels of 16 bits into their place in the batch; and those of 8 bits where
// the batch has numbers, u16 or i32. Thread-safe.
#pragma once

#include <cstdint>

#include <ffkit/image/image_output.h>
#include <ffkit/image/rgb_image.h>

namespace ffkit {

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
