// Pixels of pictures that are stored as they are, or nearly so: BMP, and netpbm's PBM, PGM and PPM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ffkit/image/image_info.h>

namespace ffkit {

// True when `data` begins as a BMP: "BM" alone begins texts too, so the size of the second header
// has to be one that there is.
bool is_bmp(std::span<const std::byte> data);

// Reads the header; throws Error(corrupt), also when there is less data than pixels, and
// Error(unsupported) for kinds that are not handled.
ImageInfo read_bmp_info(std::span<const std::byte> data);

// Writes the pixels of `region`, which must lie within the image: [height, width, 3] without gaps.
// Throws as read_bmp_info(); where runs are broken, Error(corrupt).
void decode_bmp(std::span<const std::byte> data, const Rect& region, uint8_t* out);

// True when `data` begins as one of netpbm's six kinds does.
bool is_pnm(std::span<const std::byte> data);

// Throws Error(corrupt), also when there is less data than pixels.
ImageInfo read_pnm_info(std::span<const std::byte> data);

// As decode_bmp(). Values of another largest one than 255 are scaled and rounded as Pillow does it;
// grey of more than 255 is scaled to 16 bits, and has the high byte. Throws Error(corrupt).
void decode_pnm(std::span<const std::byte> data, const Rect& region, uint8_t* out);

// The same, scaled to 16 bits.
void decode_wide_pnm(std::span<const std::byte> data, const Rect& region, uint16_t* out);

}  // namespace ffkit
