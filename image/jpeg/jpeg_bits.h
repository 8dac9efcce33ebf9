// Reading Huffman codes of a JPEG's scan: tables, bits, and the coefficients of a block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "jpeg/libjpeg.h"

namespace ffkit {

// JpegHuffmanTable: a Huffman table of a JPEG, expanded so that one lookup gives a code together
// with the value behind it.
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

// Natural order (8 * row + column) of the coefficient at a place of the zigzag order. Those that a
// broken run leads beyond the end fall on the last, as in libjpeg; so does the zero that is stored
// for an end of block, which comes only while the last one is still zero.
inline constexpr std::array<uint8_t, 128> kNaturalOrder = [] {
  std::array<uint8_t, 128> order = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
  for (size_t i = 64; i < order.size(); ++i) order[i] = 63;
  return order;
}();

// The state of reading a scan without byte stuffing. All is inlined into the loop over an MCU's
// blocks, so that it stays in registers: 3 %.
struct JpegBits {
  // A block takes at most 64 * (16 + 15) bits: so many zeros behind the scan make it safe to check
  // for its end once a block.
  static constexpr size_t kPaddingBytes = 256 + 16;

  uint64_t window = 0;            // the next bits, left-aligned
  int num_bits = 0;               // of window that are valid
  const uint8_t* next = nullptr;  // next byte to be loaded

  // Afterwards at least 56 bits are valid. May read up to 8 bytes beyond what it takes.
  void refill() {
    uint64_t bytes;
    std::memcpy(&bytes, next, 8);
    window |= __builtin_bswap64(bytes) >> num_bits;
    next += (63 - num_bits) >> 3;
    num_bits |= 56;
  }
  uint32_t top(uint32_t count) const { return static_cast<uint32_t>(window >> (64 - count)); }
  void drop(uint32_t count) {
    window <<= count;
    num_bits -= static_cast<int>(count);
  }

  // Adds the next DC difference to last_dc. Returns false where no code is, or where the sum is out
  // of all bounds.
  [[gnu::always_inline]] bool decode_dc(const JpegHuffmanTable& table, int& last_dc);
  // Decodes a block's AC coefficients, of which those that are zero are not stored. Returns false
  // where no code is.
  [[gnu::always_inline]] bool decode_ac(const JpegHuffmanTable& table, JCOEF* block) {
    uint32_t place;
    uint32_t step;
    return decode_ac(table, block, place, step);
  }
  // The same; `place`, of the zigzag order, and `step` tell how the block ends: the last symbol led
  // from the one to their sum.
  [[gnu::always_inline]] bool decode_ac(const JpegHuffmanTable& table, JCOEF* block,
                                        uint32_t& place, uint32_t& step);

 private:
  // The next symbol, whose code is longer than a lookup; moves `k` behind it.
  [[gnu::always_inline]] bool decode_long_ac(const JpegHuffmanTable& table, JCOEF* block,
                                             uint32_t& k);
  // The next `size` bits, where there are any.
  [[gnu::always_inline]] void read_value(uint32_t size, JCOEF& coefficient);
};

inline bool JpegBits::decode_dc(const JpegHuffmanTable& table, int& last_dc) {
  using Table = JpegHuffmanTable;
  refill();
  const uint32_t entry = table.entries[top(Table::kLookupBits)];
  uint32_t length = entry & Table::kLengthMask;
  uint32_t size = entry >> Table::kSizeShift & Table::kSizeMask;
  int difference = static_cast<int>(entry) >> Table::kValueShift;
  if (entry == Table::kLongCode) {
    const Table::Symbol symbol = table.long_code(window);
    if (symbol.length > 16) return false;
    length = symbol.length;
    size = symbol.size;
  }
  drop(length);
  if (size > 0) {
    difference = Table::extend(top(size), size);
    drop(size);
  }
  last_dc += difference;
  return std::abs(last_dc) < (1 << 20);
}

inline bool JpegBits::decode_ac(const JpegHuffmanTable& table, JCOEF* block, uint32_t& place,
                                uint32_t& step) {
  using Table = JpegHuffmanTable;
  uint32_t k = 0;
  // The last lookup: where it began, and its lower half.
  uint32_t before = 0;
  uint32_t low = 0;
  // Where the first symbol of a pair cannot end the block: two symbols with a lookup.
  while (k < 63 - Table::kMaxAdvance) {
    if (num_bits < 32) refill();
    const uint64_t pair = table.pairs[top(Table::kLookupBits)];
    before = k;
    if (pair == Table::kLongCode) {
      if (!decode_long_ac(table, block, k)) return false;
      low = (k - before) << Table::kAdvanceShift;
      continue;
    }
    low = static_cast<uint32_t>(pair);
    drop(low & Table::kLengthMask);
    k += low >> Table::kAdvanceShift & Table::kAdvanceMask;
    block[kNaturalOrder[k]] = static_cast<JCOEF>(pair >> Table::kFirstValueShift);
    k += low >> Table::kSecondAdvanceShift;
    block[kNaturalOrder[k]] = static_cast<JCOEF>(pair >> Table::kLastValueShift);
    read_value(low >> Table::kSizeShift & Table::kSizeMask, block[kNaturalOrder[k]]);
  }
  while (k < 63) {
    if (num_bits < 32) refill();
    const uint32_t entry = table.entries[top(Table::kLookupBits)];
    before = k;
    if (entry == Table::kLongCode) {
      if (!decode_long_ac(table, block, k)) return false;
      low = (k - before) << Table::kAdvanceShift;
      continue;
    }
    low = entry & 0xFFFF;
    drop(entry & Table::kLengthMask);
    k += entry >> Table::kAdvanceShift & Table::kAdvanceMask;
    block[kNaturalOrder[k]] = static_cast<JCOEF>(static_cast<int>(entry) >> Table::kValueShift);
    read_value(entry >> Table::kSizeShift & Table::kSizeMask, block[kNaturalOrder[k]]);
  }
  const uint32_t advance = low >> Table::kAdvanceShift & Table::kAdvanceMask;
  const uint32_t second_advance = low >> Table::kSecondAdvanceShift;
  place = second_advance != 0 ? before + advance : before;
  step = second_advance != 0 ? second_advance : advance;
  return true;
}

inline bool JpegBits::decode_long_ac(const JpegHuffmanTable& table, JCOEF* block, uint32_t& k) {
  using Table = JpegHuffmanTable;
  const Table::Symbol symbol = table.long_code(window);
  if (symbol.length > 16) return false;
  drop(symbol.length);
  k += symbol.size == 0 && symbol.run != 15 ? Table::kEndOfBlock : symbol.run + 1;
  read_value(symbol.size, block[kNaturalOrder[k]]);
  return true;
}

inline void JpegBits::read_value(uint32_t size, JCOEF& coefficient) {
  if (size == 0) return;
  coefficient = static_cast<JCOEF>(JpegHuffmanTable::extend(top(size), size));
  drop(size);
}

}  // namespace ffkit
