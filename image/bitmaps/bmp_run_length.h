// Pixels of a run-length encoded BMP: Microsoft's "Bitmap compression", RLE8 and RLE4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bitmaps/bmp_header.h"

namespace ffkit {

// The number of each pixel's colour, rows as they are stored. Pixels that the runs leave out have
// number 0. Throws Error(corrupt) where the data end before the picture does.
std::vector<uint8_t> decode_bmp_runs(std::span<const std::byte> data, const BmpHeader& header);

}  // namespace ffkit
