// PpmDecoder: pixels of netpbm's binary PPM (P6) and PGM (P5); keeps its pixel buffer between images. Not thread-safe. The layout is that of
// netpbm's ppm(5): "P6", width, height and the largest value as decimal numbers between white space, comments from # to the end of the line, one
// white space, then rows without padding.
#pragma once

#include <cstddef>
#include <span>

#include <ffkit/image/image_codec.h>

#include "codec/pixel_buffer.h"

namespace ffkit {

class PpmDecoder {
 public:
  // The pixels of `region`, which must lie within the image. One copy of these and nothing else. The view lives until the next call.
  // Throws Error(corrupt).
  RgbView decode(std::span<const std::byte> data, const Rect& region);

 private:
  PixelBuffer pixels_;
};

// True when `data` begins as a PPM or PGM does.
bool is_ppm(std::span<const std::byte> data);
// Reads the header; throws Error(corrupt), also when there is less data than pixels, and Error(unsupported) for values that are no bytes.
ImageInfo read_ppm_info(std::span<const std::byte> data);

}  // namespace ffkit
