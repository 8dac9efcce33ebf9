// JpegHuffmanTable: a Huffman table of a JPEG, expanded so that one lookup gives a code together
// with the value behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jpeg/libjpeg.h"

namespace ffkit {

struct JpegHuffmanTable {
  static constexpr int kLookupBits = 10;
  static constexpr int kSkipBits = 11;

  // Entries, from the lowest bit: 6 bits length of the code (and of the value, where that is in the
  // entry too), 6 bits coefficients to advance, 4 bits size of a value that still has to be read,
  // 16 bits value.
  static constexpr uint32_t kLengthMask = 63;
  static constexpr int kAdvanceShift = 6;
  static constexpr uint32_t kAdvanceMask = 63;
  static constexpr int kSizeShift = 12;
  static constexpr uint32_t kSizeMask = 15;
  static constexpr int kValueShift = 16;

  // Pairs stand for one symbol, or for two where both codes, and the value of the first, lie within
  // kLookupBits bits. From the lowest bit: as in an entry the length of both, the coefficients to
  // advance for the first, and the size of a value of the last that still has to be read; 16 bits
  // coefficients to advance from the first to the second, 0 where there is none; 16 bits value of
  // the first; 16 bits value of the last.
  static constexpr int kSecondAdvanceShift = 16;
  static constexpr int kFirstValueShift = 32;
  static constexpr int kLastValueShift = 48;
  // The longest advance of a symbol that ends no block.
  static constexpr uint32_t kMaxAdvance = 16;
  // Advance of an end of block: leads beyond the last coefficient from anywhere.
  static constexpr uint32_t kEndOfBlock = 63;
  // Not an entry: the code is longer than the lookup.
  static constexpr uint32_t kLongCode = 0;

  // Skips stand for all symbols that lie completely within the next kSkipBits bits, up to an end of
  // block. From the lowest bit: 5 bits their length, 1 bit end of block, 10 bits coefficients to
  // advance before that. 0: not even one fits.
  static constexpr uint32_t kSkipLengthMask = 31;
  static constexpr int kSkipEndShift = 5;
  static constexpr int kSkipAdvanceShift = 6;

  // Expands `source`, which must be free of contradictions, as libjpeg checks it; does nothing when
  // it is the table of the call before. Skips are for an AC table of which not all blocks are
  // wanted.
  void build(const JHUFF_TBL& source, bool is_dc, bool with_skips);

  struct Symbol {
    uint32_t length;  // of the code; 17 where there is none
    uint32_t run;
    uint32_t size;
  };
  // The symbol at the top of `window`, known to be longer than the lookup.
  Symbol long_code(uint64_t window) const {
    const auto code = static_cast<uint32_t>(window >> 48);
    size_t length = kLookupBits + 1;
    while (code >= limit[length]) ++length;
    if (length > 16) return {17, 0, 0};
    const int index = static_cast<int>(code >> (16 - length)) + offset[length];
    const uint32_t symbol = source_symbols[index & 255];
    return {static_cast<uint32_t>(length), symbol >> 4, symbol & 15};
  }

  // HUFF_EXTEND of the standard (F.2.2.1): `size` >= 1 bits to a signed number.
  static int extend(uint32_t bits, uint32_t size) {
    return bits < (1U << (size - 1)) ? static_cast<int>(bits) - (1 << size) + 1
                                     : static_cast<int>(bits);
  }

  std::array<uint32_t, 1 << kLookupBits> entries;
  std::array<uint64_t, 1 << kLookupBits> pairs;  // of AC tables only, as are skips
  std::array<uint16_t, 1 << kSkipBits> skips;
  // Codes of length n end before limit[n], left-aligned to 16 bits, and are source_symbols[code +
  // offset[n]].
  std::array<uint32_t, 18> limit;
  std::array<int, 17> offset;
  // What it was built from.
  std::array<uint8_t, 17> source_bits = {};
  std::array<uint8_t, 256> source_symbols = {};
  bool is_built = false;

 private:
  void build_pairs();
  void build_skips();
};

}  // namespace ffkit
