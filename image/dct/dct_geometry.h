// DctGeometry: how many blocks a row of MCUs has, and whose they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ffkit {

// DC coefficients are at most so large, and at least -kMaxDctDc - 1.
inline constexpr int kMaxDctDc = 8191;

struct DctGeometry {
  static constexpr size_t kMaxComponents = 3;
  static constexpr size_t kMaxBlocksInMcu = 10;  // T.81, B.2.3

  size_t num_components = 0;
  size_t blocks_in_mcu = 0;
  size_t mcus_per_row = 0;
  size_t num_rows = 0;  // of MCUs
  // Component c has the blocks first_block[c] .. first_block[c] + num_blocks[c] - 1 of an MCU.
  std::array<size_t, kMaxComponents> first_block = {};
  std::array<size_t, kMaxComponents> num_blocks = {};
  std::array<uint8_t, kMaxBlocksInMcu> component_of_block = {};

  size_t blocks_per_row() const { return blocks_in_mcu * mcus_per_row; }

  // Adds a component that has `count` blocks in an MCU; there must be room for them.
  void add_component(size_t count) {
    first_block[num_components] = blocks_in_mcu;
    num_blocks[num_components] = count;
    for (size_t i = 0; i < count; ++i) {
      component_of_block[blocks_in_mcu++] = static_cast<uint8_t>(num_components);
    }
    ++num_components;
  }
};

// What the header says of each component.
struct DctCodes {
  std::array<uint8_t, 32> widths = {};       // of values in bits: [4 * tile + class]
  std::array<uint8_t, 3> common_flags = {};  // flags of blocks that take 2 bits
};
using DctComponentCodes = std::array<DctCodes, DctGeometry::kMaxComponents>;

}  // namespace ffkit
