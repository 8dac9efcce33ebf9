// BmpDecoder: pixels of uncompressed BMP images; keeps its pixel buffer between images. Not thread-safe. The layout is that of Microsoft's
// "Bitmap storage": a file header of 14 bytes, a BITMAPINFOHEADER (40 bytes) or one of its successors, a palette, rows of a multiple of 4 bytes.
#pragma once

#include <cstddef>
#include <span>

#include <ffkit/image/image_codec.h>

#include "codec/pixel_buffer.h"

namespace ffkit {

class BmpDecoder {
 public:
  // The pixels of `region`, which must lie within the image. The view lives until the next call. Throws as read_bmp_info().
  RgbView decode(std::span<const std::byte> data, const Rect& region);

 private:
  PixelBuffer pixels_;
};

// Reads the header; throws Error(corrupt), also when there is less data than pixels, and Error(unsupported) for kinds that are not handled.
ImageInfo read_bmp_info(std::span<const std::byte> data);

}  // namespace ffkit
