// DctRowReader: the coefficients of a row of MCUs in the dct code (format/DCT.md), from left to
// right. Keeps its memory from row to row. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dct/dct_file.h"
#include "dct/dct_kernels.h"

namespace ffkit {

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
