// PngDecoder, WebpDecoder: pixels of PNG pictures by libpng, of WebP by libwebp; they keep their
// pixel buffers between pictures. Not thread-safe.
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

  // The numbers of the file: indices of a palette, grey of 1 to 16 bits, or three channels, not
  // changed; rows `stride` numbers apart.
  struct Numbers {
    const void* data = nullptr;
    bool is_wide = false;  // u16, not u8
    int width = 0;
    int height = 0;
    ptrdiff_t stride = 0;
  };
  Numbers decode_numbers(std::span<const std::byte> data);

 private:
  enum class Form { rgb, wide_rgb, numbers };
  struct Rows;
  Rows read_rows(std::span<const std::byte> data, int num_rows, Form form);

  PixelBuffer pixels_;
};

// Reads the header (IHDR chunk); throws Error(corrupt).
ImageInfo read_png_info(std::span<const std::byte> data);

// WebpDecoder: pixels of WebP pictures, lossy and lossless, by libwebp, and of an animation the
// first one; keeps its pixel buffer between pictures. Not thread-safe.
class WebpDecoder {
 public:
  // Decodes the whole picture, whose size must have been checked. The view lives until the next
  // call. Throws Error(corrupt).
  RgbView decode(std::span<const std::byte> data);

 private:
  PixelBuffer pixels_;
};

// Reads the header; throws Error(corrupt).
ImageInfo read_webp_info(std::span<const std::byte> data);

}  // namespace ffkit
