// DctFile: the parts of a picture in the dct code (format/DCT.md), and what its rows have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dct/dct_kernels.h"

namespace ffkit {

// DC coefficients are at most so large, and at least -kMaxDctDc - 1.
inline constexpr int kMaxDctDc = 8191;

// How many blocks a row of MCUs has, and whose they are.
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

// A view, which owns nothing.
class DctFile {
 public:
  static constexpr size_t kMagicBytes = 6;
  static constexpr std::string_view kMagic = {
      "\x93"
      "FFDCT",
      kMagicBytes};
  static constexpr uint8_t kVersion = 1;
  static constexpr size_t kHeaderBytes = 28;
  static constexpr size_t kCodeBytes = 19;   // of a component: widths and flags
  static constexpr size_t kSlackBytes = 16;  // zeros at the end

  // Checks header and index. Throws Error(corrupt) or, for another version, Error(unsupported).
  // `dct` must stay.
  void open(std::span<const std::byte> dct);

  uint8_t padding() const { return padding_; }
  std::span<const std::byte> head() const { return head_; }
  std::span<const std::byte> tail() const { return tail_; }
  size_t num_rows() const { return num_rows_; }
  size_t num_components() const { return num_components_; }
  const DctComponentCodes& codes() const { return codes_; }
  // kSlackBytes more can be read behind it.
  std::span<const uint8_t> row(size_t i) const;

 private:
  uint8_t padding_ = 0;
  size_t num_rows_ = 0;
  size_t num_components_ = 0;
  std::span<const std::byte> head_;
  std::span<const std::byte> tail_;
  DctComponentCodes codes_;
  const uint8_t* index_ = nullptr;
  const uint8_t* rows_ = nullptr;
};

// Throws Error(corrupt): the dct code of a picture is broken, and `what` says how.
[[noreturn]] void throw_broken_dct(std::string_view what);

// DctRowReader: the coefficients of a row of MCUs in the dct code (format/DCT.md), from left to
// right. Keeps its memory from row to row. Not thread-safe.
class DctRowReader {
 public:
  // Begins a picture. Throws std::bad_alloc.
  void begin(const DctGeometry& geometry, const DctComponentCodes& codes);

  // Begins a row, behind which 16 more bytes can be read. Returns false where it is broken. It must
  // stay until the next. With `dc_alone` only read_dc() and skip_dc() may follow, and nothing else
  // of the row is looked at.
  bool open(std::span<const uint8_t> row, bool dc_alone = false);

  // The next MCU's blocks, one behind the other, which must be 0. Returns false where the row is
  // broken. There must be an MCU left. Sets bit i of escaped[b] where coefficient i of block b is
  // an escape and not named by a mask, unless `escaped` is null.
  bool read_mcu(int16_t* blocks, uint64_t* escaped = nullptr);
  // As read_mcu(), without an output.
  bool skip_mcus(size_t count);
  // The same for DC coefficients alone.
  void read_dc(int16_t* blocks);
  void skip_dc(size_t count) { block_ += count * geometry_.blocks_in_mcu; }
  // Whether the last MCU, which must have been read or skipped, ends with the row.
  bool is_at_end() const;

  // Of the next MCU: one byte a block; and the masks from its first tile on.
  const uint8_t* flags() const { return flags_.data() + block_; }
  const uint8_t* masks() const { return tiles_.masks + tiles_.tile; }

 private:
  bool open_dc(std::span<const uint8_t>& rest, size_t component);
  bool open_flags(std::span<const uint8_t>& rest);
  bool read_escapes(int16_t* blocks, uint64_t* escaped);
  bool next_escape();

  DctGeometry geometry_;
  UnpackDctTiles unpack_ = nullptr;
  std::array<uint8_t, 64 * DctGeometry::kMaxBlocksInMcu> widths_ = {};
  // Of the blocks of an MCU: the three common flags, from the lowest byte on.
  std::array<uint32_t, DctGeometry::kMaxBlocksInMcu> common_flags_ = {};
  std::vector<int16_t> dc_;  // of the row's blocks, in the order of the scan

  std::vector<uint8_t> flags_;  // likewise
  DctTiles tiles_;
  size_t block_ = 0;  // the next one
  // The next escape.
  const uint8_t* escape_ = nullptr;
  size_t escapes_left_ = 0;  // behind it
  size_t escape_block_ = 0;
  uint32_t escape_bits_ = 0;
};

}  // namespace ffkit
