// DctRowWriter: writes rows of MCUs in the dct code (format/DCT.md), from DctCoefficients. Keeps
// its memory from row to row. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dct/dct_file.h"
#include "dct/dct_kernels.h"

namespace ffkit {

// DctCoefficients: all coefficients of a picture, as tiles, and statistics of them. Keeps its
// memory between pictures. Not thread-safe.
class DctCoefficients {
 public:
  // The widest value in two's complement that the dct code has: an escape's.
  static constexpr size_t kMaxWidth = 12;

  void begin(const DctGeometry& geometry);

  // The next MCU: its blocks one behind the other, with DC coefficients of 0; `dc` has those.
  // Returns false where a coefficient is out of bounds. Throws std::bad_alloc.
  bool add_mcu(const int16_t* blocks, const int16_t* dc);

  // Goes back to the first MCU for is_next().
  void begin_again() { next_block_ = next_value_ = 0; }
  // Whether the next MCU that was added is this one, with its DC coefficients in the blocks. Those
  // are 0 afterwards. There must be one left.
  bool is_next(int16_t* blocks);

  // How many tiles there are of [component][tile][width], and how many values they have.
  struct Counts {
    uint64_t tiles = 0;
    uint64_t values = 0;
  };
  using Statistics =
      std::array<std::array<std::array<Counts, kMaxWidth + 2>, 8>, DctGeometry::kMaxComponents>;
  const Statistics& statistics() const { return statistics_; }
  // How many blocks have these flags: [component][flags].
  using FlagCounts = std::array<std::array<uint32_t, 256>, DctGeometry::kMaxComponents>;
  const FlagCounts& flag_counts() const { return flag_counts_; }

  // One a block, in the order of the scan.
  std::span<const int16_t> dc() const { return dc_; }
  std::span<const DctBlockTiles> blocks() const { return blocks_; }
  // Of all blocks: those that are not of 0, tile by tile. 8 more can be read.
  std::span<const int16_t> values() const { return std::span(values_).first(num_values_); }

 private:
  DctGeometry geometry_;
  std::vector<int16_t> dc_;
  std::vector<DctBlockTiles> blocks_;
  std::vector<int16_t> values_;
  size_t num_values_ = 0;
  size_t next_block_ = 0;
  size_t next_value_ = 0;
  Statistics statistics_ = {};
  FlagCounts flag_counts_ = {};
};

// The codes with which a picture takes the fewest bits, about.
DctComponentCodes choose_dct_codes(const DctCoefficients& coefficients, size_t num_components);

class DctRowWriter {
 public:
  // Begins a picture, whose coefficients must stay.
  void begin(const DctGeometry& geometry, const DctComponentCodes& codes,
             const DctCoefficients& coefficients);

  // Appends the next row to `out`. Throws std::bad_alloc.
  void write(std::vector<std::byte>& out);

 private:
  void write_dc(std::span<const int16_t> dc, size_t component, std::vector<std::byte>& out);
  void write_block(size_t block, size_t component, const DctBlockTiles& tiles);
  uint8_t split_escapes(size_t block, size_t tile, uint8_t mask, size_t widest);
  void write_escape(size_t block, size_t place, int coefficient);

  DctGeometry geometry_;
  // [component][tile][width]: the class that has room for a value of `width` bits, and its width;
  // those of the widest where none has.
  struct Choice {
    uint8_t kind = 0;
    uint8_t width = 0;
  };
  std::array<std::array<std::array<Choice, DctCoefficients::kMaxWidth + 1>, 8>,
             DctGeometry::kMaxComponents>
      choices_ = {};
  // [component][flags of a block]: 0 to 2 for those that are common, 3 for others.
  std::array<std::array<uint8_t, 256>, DctGeometry::kMaxComponents> flag_codes_ = {};
  const DctCoefficients* coefficients_ = nullptr;
  size_t next_block_ = 0;
  const int16_t* next_value_ = nullptr;

  // Of the row.
  std::vector<int16_t> component_dc_;
  std::vector<uint8_t> flag_kinds_;  // codes of flags, packed
  std::vector<uint8_t> flags_;       // those that are not common
  size_t num_tiles_ = 0;
  std::vector<uint8_t> masks_;    // of tiles
  std::vector<uint8_t> kinds_;    // classes, one a byte ...
  std::vector<uint8_t> classes_;  // ... and packed
  std::vector<uint8_t> escapes_;
  size_t escape_block_ = 0;
  std::vector<uint8_t> values_;
  size_t num_bits_ = 0;
  std::array<int16_t, 8> kept_ = {};  // values of a tile that are no escapes
};

}  // namespace ffkit
