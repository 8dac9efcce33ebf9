// Vector loops over tiles of coefficients: unpacking them when a picture is read, measuring and
// gathering them when it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ffkit {

// The tiles of a row of MCUs, and how far they are read.
struct DctTiles {
  const uint8_t* masks = nullptr;
  const uint8_t* classes = nullptr;
  const uint8_t* values = nullptr;  // 16 bytes behind the last can be read
  size_t num_bits = 0;              // of values
  size_t tile = 0;                  // number of the next one
  size_t bit = 0;                   // where its values begin
};

// Unpacks the next blocks, at most 10. `flags` has one byte a block; `widths` 64 bytes a block,
// [DctTables::place(tile) + class], of 1 to 8; `blocks` 64 coefficients a block, which are 0. The
// tiles that the flags name must be there. Returns false when the values end before.
using UnpackDctTiles = bool (*)(DctTiles& tiles, const uint8_t* flags, const uint8_t* widths,
                                size_t num_blocks, int16_t* blocks);
// For this processor.
UnpackDctTiles unpack_dct_tiles();

// Sum of the bits that are set in `num_bytes` bytes.
size_t count_dct_bits(const uint8_t* bytes, size_t num_bytes);

// What is gathered of a block whose DC coefficient is set to 0. The value of a coefficient c is c -
// 1 for c > 0, and c otherwise.
struct DctBlockTiles {
  alignas(16) uint8_t masks[8];
  // Bits that the largest value of the tile takes in two's complement; 0 where the mask is 0.
  uint8_t widths[8];

  // Bit t says that mask t is not 0.
  unsigned flags() const {
    uint64_t x;
    std::memcpy(&x, masks, sizeof(x));
    x |= x >> 4;
    x |= x >> 2;
    x |= x >> 1;
    return static_cast<unsigned>((x & 0x0101010101010101) * 0x0102040810204080 >> 56);
  }
};

// Measures blocks of 64 coefficients, none of -32768. Appends their values that are not of 0, tile
// by tile, to `values`, where 8 more than there are can be written; returns the end of them.
int16_t* gather_dct_tiles(const int16_t* blocks, size_t num_blocks, DctBlockTiles* tiles,
                          int16_t* values);

// Whether blocks have been gathered to these tiles, whose values, and 8 more that can be read,
// begin at `values`. Returns the end of those values; else nullptr.
const int16_t* match_dct_tiles(const int16_t* blocks, size_t num_blocks, const DctBlockTiles* tiles,
                               const int16_t* values);

}  // namespace ffkit
