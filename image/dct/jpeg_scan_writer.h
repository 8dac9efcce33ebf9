// JpegScanWriter: Huffman codes of a JPEG's scan from coefficients. Keeps its memory between
// pictures. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dct/jpeg_head.h"

namespace ffkit {

class JpegScanWriter {
 public:
  void begin(const JpegHead& head);

  // One block of a component, in the order of the scan: 64 coefficients in natural order. Bit k of
  // `places` says that the one at place k of the zigzag order is not 0; bit 0 counts for nothing.
  // Returns false where a coefficient has no code in the tables. Throws std::bad_alloc.
  bool write_block(size_t component, const int16_t* block, uint64_t places);

  // Fills up the last byte with the lowest bits of `padding`, and appends the scan to `out`.
  // Returns false where other bits of `padding` are set. Throws std::bad_alloc.
  bool finish(uint8_t padding, std::vector<std::byte>& out);

 private:
  // From the lowest bit: 5 bits number of bits, then the code. Bit 31 is set where there is none.
  struct Codes {
    std::array<uint32_t, 256> of_symbol;
    void build(const JHUFF_TBL& table);
  };
  // Codes of AC coefficients from -32 to 31 with their bits: [64 * run + 32 + coefficient]. That is
  // nearly all of them.
  struct SmallCodes {
    std::array<uint32_t, 16 * 64> of_coefficient;
    void build(const Codes& codes);
  };
  struct Output;
  static uint64_t with_bits(const std::array<uint32_t, 256>& codes, unsigned run, int value);

  std::array<Codes, DctGeometry::kMaxComponents> dc_codes_;
  std::array<Codes, DctGeometry::kMaxComponents> ac_codes_;
  std::array<SmallCodes, DctGeometry::kMaxComponents> small_codes_;
  std::array<int, DctGeometry::kMaxComponents> last_dc_ = {};
  std::vector<std::byte> scan_;  // without byte stuffing
  size_t used_ = 0;              // bytes of it
  uint64_t window_ = 0;          // the last bits, less than a byte, in its highest
  unsigned num_bits_ = 0;
};

}  // namespace ffkit
