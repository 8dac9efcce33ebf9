// Vector loops over tiles of coefficients: unpacking them when a picture is read, measuring and
// gathering them when it is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ffkit {

// Tables for tiles of coefficients and their values (format/DCT.md). Bit i of a mask is the
// coefficient at the tile's row i / 4 and column i % 4.
struct DctTables {
  static constexpr size_t kTiles = 8;  // of a block
  static constexpr size_t kMaxWidth = 8;

  // Where a tile begins in its block, in coefficients: 4 in each of two rows of 8.
  static constexpr size_t place(size_t tile) { return tile / 2 * 16 + tile % 2 * 4; }

  // Of a byte: how many bits are set, and their numbers, one a byte, from the lowest bit on.
  std::array<uint8_t, 256> num_bits = {};
  std::array<uint64_t, 256> set_bits = {};
  // Of the flags of a block: place() / 4 of its tiles, one a byte.
  std::array<uint64_t, 256> quarters = {};

  // Shuffles of the bytes of 8 coefficients: from those in a row to those that the mask names, and
  // the other way. The others become 0.
  alignas(16) std::array<std::array<uint8_t, 16>, 256> expand = {};
  alignas(16) std::array<std::array<uint8_t, 16>, 256> compress = {};

  // [8 * width + first bit]: 8 values of `width` bits begin at bit `first bit` (0 to 7) of 16
  // bytes. The shuffle brings the two bytes that a value lies in into a lane of 16 bits; the factor
  // moves it to the top of the lane; with the power [width], the upper half of a product is it
  // alone, with its sign.
  alignas(16) std::array<std::array<uint8_t, 16>, 8 * (kMaxWidth + 1)> shuffle = {};
  alignas(16) std::array<std::array<int16_t, 8>, 8 * (kMaxWidth + 1)> factor = {};
  alignas(16) std::array<std::array<int16_t, 8>, kMaxWidth + 1> power = {};

  constexpr DctTables() {
    for (size_t mask = 0; mask < 256; ++mask) {
      size_t count = 0;
      for (size_t bit = 0; bit < 8; ++bit) {
        expand[mask][2 * bit] = expand[mask][2 * bit + 1] = 0x80;
        compress[mask][2 * bit] = compress[mask][2 * bit + 1] = 0x80;
        if ((mask >> bit & 1) == 0) continue;
        set_bits[mask] |= uint64_t{bit} << (8 * count);
        quarters[mask] |= uint64_t{place(bit) / 4} << (8 * count);
        expand[mask][2 * bit] = static_cast<uint8_t>(2 * count);
        expand[mask][2 * bit + 1] = static_cast<uint8_t>(2 * count + 1);
        ++count;
      }
      num_bits[mask] = static_cast<uint8_t>(count);
      for (size_t i = 0; i < count; ++i) {
        const auto bit = static_cast<uint8_t>(set_bits[mask] >> (8 * i));
        compress[mask][2 * i] = static_cast<uint8_t>(2 * bit);
        compress[mask][2 * i + 1] = static_cast<uint8_t>(2 * bit + 1);
      }
    }
    for (size_t width = 1; width <= kMaxWidth; ++width) {
      power[width].fill(static_cast<int16_t>(1 << width));
      for (size_t first = 0; first < 8; ++first) {
        for (size_t i = 0; i < 8; ++i) {
          const size_t bit = first + i * width;
          shuffle[8 * width + first][2 * i] = static_cast<uint8_t>(bit / 8);
          shuffle[8 * width + first][2 * i + 1] = static_cast<uint8_t>(bit / 8 + 1);
          // At most 2^15, which as i16 is the same bits.
          factor[8 * width + first][i] = static_cast<int16_t>(1U << (16 - width - bit % 8));
        }
      }
    }
  }
};

inline constexpr DctTables kDctTables;

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
