// PixelWriter: finished pixels into their place in the batch: normalised, converted, laid out in
// one pass.
//
// The same values to the bit as Resizer writes for the same pixels. run() is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/image/image_output.h>
#include <ffkit/image/rgb_image.h>

#include "pixels/row_scale.h"

namespace ffkit {

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

}  // namespace ffkit
