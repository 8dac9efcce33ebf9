// Reading Huffman codes of a JPEG's scan: the bits, and the coefficients of a block.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "jpeg/jpeg_huffman_table.h"
#include "jpeg/libjpeg.h"

namespace ffkit {

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
