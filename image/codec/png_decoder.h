// PngDecoder: pixels of PNG pictures by libpng; keeps its pixel buffer between pictures. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <span>

#include <ffkit/image/image_codec.h>

#include "codec/pixel_buffer.h"

namespace ffkit {

class PngDecoder {
 public:
  // Decodes the first `num_rows` rows, or all for -1. The view lives until the next call.
  RgbView decode(std::span<const std::byte> data, int num_rows = -1);
  // The same with 16 bits a channel, as those of 16 bits have them.
  WideRgbView decode_wide(std::span<const std::byte> data, int num_rows = -1);

 private:
  struct Rows;
  Rows read_rows(std::span<const std::byte> data, int num_rows, bool is_wide);

  PixelBuffer pixels_;
};

// Reads the header (IHDR chunk); throws Error(corrupt).
ImageInfo read_png_info(std::span<const std::byte> data);

}  // namespace ffkit
