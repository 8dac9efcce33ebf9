// Pixels of BMP pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ffkit/image/image_info.h>

namespace ffkit {

// Reads the header; throws Error(corrupt), also when there is less data than pixels, and
// Error(unsupported) for kinds that are not handled.
ImageInfo read_bmp_info(std::span<const std::byte> data);

// Writes the pixels of `region`, which must lie within the image: [height, width, 3] without gaps.
// Throws as read_bmp_info(); where runs are broken, Error(corrupt).
void decode_bmp(std::span<const std::byte> data, const Rect& region, uint8_t* out);

}  // namespace ffkit
