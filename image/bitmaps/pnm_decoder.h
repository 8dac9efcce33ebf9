// Pixels of netpbm's PBM, PGM and PPM pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ffkit/image/image_info.h>

namespace ffkit {

// Writes the pixels of `region`, which must lie within the image: [height, width, 3] without gaps.
// Values of another largest one than 255 are scaled and rounded as Pillow does it; grey of more
// than 255 is scaled to 16 bits, and has the high byte. Throws Error(corrupt).
void decode_pnm(std::span<const std::byte> data, const Rect& region, uint8_t* out);

// The same, scaled to 16 bits.
void decode_wide_pnm(std::span<const std::byte> data, const Rect& region, uint16_t* out);

}  // namespace ffkit
