// The table of skips against decoding one symbol after another.
#include "jpeg/jpeg_huffman_table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <vector>

namespace ffkit {
namespace {

constexpr int kBits = JpegHuffmanTable::kSkipBits;

// `counts`: of codes of 1, 2, ... bits.
JHUFF_TBL make_table(std::initializer_list<int> counts, std::initializer_list<int> symbols) {
  JHUFF_TBL table = {};
  size_t length = 0;
  for (const int count : counts) table.bits[++length] = static_cast<UINT8>(count);
  size_t i = 0;
  for (const int symbol : symbols) table.huffval[i++] = static_cast<UINT8>(symbol);
  return table;
}

struct Skipped {
  uint32_t length = 0;
  uint32_t advance = 0;
  bool is_end = false;
  bool operator==(const Skipped&) const = default;
};

// The symbol whose code is at bit `at`; sets the code's length, or leaves 0 where none lies within
// the window.
int symbol_at(const JHUFF_TBL& table, uint32_t window, int at, int& code_length) {
  int code = 0;
  int first = 0;  // the first code of this length, as the standard's figure F.16 counts
  int index = 0;
  for (int length = 1; length <= kBits - at && length <= JpegHuffmanTable::kLookupBits; ++length) {
    code = code << 1 | static_cast<int>(window >> (kBits - at - length) & 1);
    const int count = table.bits[length];
    if (code - first < count) {
      code_length = length;
      return table.huffval[index + code - first];
    }
    index += count;
    first = (first + count) << 1;
  }
  return 0;
}

Skipped skip_one_by_one(const JHUFF_TBL& table, uint32_t window) {
  Skipped out;
  while (!out.is_end) {
    int code_length = 0;
    const int symbol = symbol_at(table, window, static_cast<int>(out.length), code_length);
    const auto length = static_cast<uint32_t>(code_length + (symbol & 15));
    if (code_length == 0 || out.length + length > uint32_t{kBits}) break;
    out.length += length;
    out.is_end = symbol == 0x00;
    if (!out.is_end) out.advance += static_cast<uint32_t>(symbol >> 4) + 1;
  }
  return out;
}

TEST(JpegHuffmanTable, SkipsAllSymbolsThatLieWithinTheWindow) {
  const std::vector<JHUFF_TBL> tables = {
      make_table({0, 2, 1, 3}, {0x01, 0x02, 0x03, 0x00, 0x04, 0x11}),  // as the standard's begins
      make_table({1, 1, 1}, {0x01, 0xf0, 0x00}),                       // five symbols and more
      make_table({0, 1, 2, 0, 0, 0, 0, 0, 0, 1, 2}, {0x00, 0x1a, 0x25, 0x31, 0x41, 0x02}),
  };
  auto built = std::make_unique<JpegHuffmanTable>();
  for (size_t i = 0; i < tables.size(); ++i) {
    built->build(tables[i], false, true);
    for (uint32_t window = 0; window < (1U << kBits); ++window) {
      const uint32_t skip = built->skips[window];
      const Skipped found{.length = skip & JpegHuffmanTable::kSkipLengthMask,
                          .advance = skip >> JpegHuffmanTable::kSkipAdvanceShift,
                          .is_end = (skip >> JpegHuffmanTable::kSkipEndShift & 1) != 0};
      ASSERT_EQ(found, skip_one_by_one(tables[i], window)) << "table " << i << ", " << window;
    }
  }
}

}  // namespace
}  // namespace ffkit
