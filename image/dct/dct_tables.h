// Tables for tiles of coefficients and their values (format/DCT.md). Bit i of a mask is the
// coefficient at the tile's row i / 4 and column i % 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ffkit {

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

}  // namespace ffkit
