// WebpDecoder: pixels of WebP pictures, lossy and lossless, by libwebp, and of an animation the
// first one; keeps its pixel buffer between pictures. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>

#include <ffkit/image/image_codec.h>

#include "codec/pixel_buffer.h"

namespace ffkit {

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
