// DctRowWriter: writes rows of MCUs in the dct code (format/DCT.md). Keeps its memory from row to
// row. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dct/dct_coefficients.h"
#include "dct/dct_file.h"

namespace ffkit {

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
