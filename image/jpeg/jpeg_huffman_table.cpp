#include <algorithm>
#include <cstring>

#include "jpeg/jpeg_bits.h"

namespace ffkit {

void JpegHuffmanTable::build(const JHUFF_TBL& source, bool is_dc, bool with_skips) {
  if (is_built && std::memcmp(source_bits.data() + 1, source.bits + 1, 16) == 0 &&
      std::memcmp(source_symbols.data(), source.huffval, 256) == 0) {
    return;
  }
  std::copy_n(source.bits, 17, source_bits.begin());
  std::copy_n(source.huffval, 256, source_symbols.begin());
  entries.fill(kLongCode);
  uint32_t code = 0;
  int index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    offset[length] = index - static_cast<int>(code);
    for (int i = 0; i < source.bits[length]; ++i, ++code, ++index) {
      if (length > kLookupBits) continue;
      const uint32_t symbol = source.huffval[index];
      const uint32_t size = symbol & 15;
      const uint32_t run = symbol >> 4;
      uint32_t advance = run + 1;
      if (is_dc) {
        advance = 0;
      } else if (size == 0 && run != 15) {
        advance = kEndOfBlock;
      }
      const auto rest = static_cast<uint32_t>(kLookupBits - length);
      for (uint32_t tail = 0; tail < (1U << rest); ++tail) {
        uint32_t entry = static_cast<uint32_t>(length) | advance << kAdvanceShift;
        if (size > 0 && size <= rest) {
          const int value = extend(tail >> (rest - size), size);
          entry += size;
          entry |= static_cast<uint32_t>(value) << kValueShift;
        } else {
          entry |= size << kSizeShift;
        }
        entries[(code << rest) + tail] = entry;
      }
    }
    limit[length] = code << (16 - length);
  }
  limit[17] = 0xFFFFFFFF;
  if (!is_dc) build_pairs();
  if (with_skips) build_skips();
  is_built = true;
}

void JpegHuffmanTable::build_pairs() {
  constexpr uint32_t kMask = (1U << kLookupBits) - 1;
  for (uint32_t window = 0; window <= kMask; ++window) {
    const uint32_t first = entries[window];
    const uint32_t value = first >> kValueShift;
    uint64_t& pair = pairs[window];
    pair = uint64_t{first & 0xFFFF} | uint64_t{value} << kFirstValueShift |
           uint64_t{value} << kLastValueShift;
    const uint32_t length = first & kLengthMask;
    const bool is_last = (first >> kAdvanceShift & kAdvanceMask) == kEndOfBlock ||
                         (first >> kSizeShift & kSizeMask) != 0;
    if (first == kLongCode || is_last) continue;
    // Zeros come in from the right; a symbol that reaches into them is not taken.
    const uint32_t second = entries[(window << length) & kMask];
    const uint32_t both = length + (second & kLengthMask);
    if (second == kLongCode || both > kLookupBits) continue;
    pair = both | uint64_t{first >> kAdvanceShift & kAdvanceMask} << kAdvanceShift |
           uint64_t{second >> kSizeShift & kSizeMask} << kSizeShift |
           uint64_t{second >> kAdvanceShift & kAdvanceMask} << kSecondAdvanceShift |
           uint64_t{value} << kFirstValueShift | uint64_t{second >> kValueShift} << kLastValueShift;
  }
}

void JpegHuffmanTable::build_skips() {
  for (uint32_t window = 0; window < (1U << kSkipBits); ++window) {
    uint32_t used = 0;
    uint32_t advance = 0;
    uint32_t is_end = 0;
    while (is_end == 0) {
      // Zeros come in from the right; symbols that reach into them are not taken.
      const uint32_t rest = (window << used) & ((1U << kSkipBits) - 1);
      const uint32_t entry = entries[rest >> (kSkipBits - kLookupBits)];
      const uint32_t length = (entry & kLengthMask) + (entry >> kSizeShift & kSizeMask);
      if (entry == kLongCode || used + length > kSkipBits) break;
      used += length;
      const uint32_t step = entry >> kAdvanceShift & kAdvanceMask;
      if (step == kEndOfBlock) {
        is_end = 1;
      } else {
        advance += step;
      }
    }
    skips[window] =
        static_cast<uint16_t>(used | is_end << kSkipEndShift | advance << kSkipAdvanceShift);
  }
}

}  // namespace ffkit
