#include "jpeg_huffman.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#if __has_include(<jpegint.h>)
// libjpeg's internal interface, of which only the entropy decoder's entry point is used; that has not changed since 1995.
#include <jpegint.h>
#define FFKIT_HAVE_JPEG_INTERNALS 1
#endif

namespace ffkit {
namespace {

// Position of a coefficient in its block; those that a broken run leads beyond the end fall on the last, as in libjpeg.
constexpr uint8_t kNaturalOrder[64 + 16] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
    40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// A block takes at most 64 * (16 + 15) bits: so many zeros behind the scan make it safe to check for its end once a block.
constexpr size_t kPaddingBytes = 256 + 16;

constexpr uint32_t kLengthMask = 63;
constexpr int kAdvanceShift = 6;
constexpr uint32_t kAdvanceMask = 63;
constexpr int kSizeShift = 12;
constexpr uint32_t kSizeMask = 15;
constexpr int kValueShift = 16;
// Advance of an end of block: leads beyond the last coefficient from anywhere.
constexpr uint32_t kEndOfBlock = 63;

constexpr uint32_t kSkipLengthMask = 31;
constexpr int kSkipEndShift = 5;
constexpr int kSkipAdvanceShift = 6;

// Not a symbol: the code is longer than the lookup.
constexpr uint32_t kLongCode = 0;

// HUFF_EXTEND of the standard (F.2.2.1): `size` bits to a signed number.
inline int extend(uint32_t bits, int size) {
  return bits < (1U << (size - 1)) ? static_cast<int>(bits) - (1 << size) + 1
                                   : static_cast<int>(bits);
}

}  // namespace

// The state of reading, in registers while a block is decoded.
struct JpegHuffman::Bits {
  uint64_t window;
  int num_bits;
  const uint8_t* next;

  // Afterwards at least 56 bits are valid. May read up to 8 bytes beyond what it takes.
  void refill() {
    uint64_t bytes;
    std::memcpy(&bytes, next, 8);
    window |= __builtin_bswap64(bytes) >> num_bits;
    next += (63 - num_bits) >> 3;
    num_bits |= 56;
  }
  void drop(int count) {
    window <<= count;
    num_bits -= count;
  }
};

void JpegHuffman::build(const JHUFF_TBL& source, bool is_dc, Table& table) {
  if (table.is_built && std::memcmp(table.source_bits.data() + 1, source.bits + 1, 16) == 0 &&
      std::memcmp(table.source_symbols.data(), source.huffval, 256) == 0) {
    return;
  }
  std::copy_n(source.bits, 17, table.source_bits.begin());
  std::copy_n(source.huffval, 256, table.source_symbols.begin());
  table.symbols = table.source_symbols;
  table.entries.fill(kLongCode);
  uint32_t code = 0;
  int index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    table.offset[static_cast<size_t>(length)] = index - static_cast<int>(code);
    for (int i = 0; i < source.bits[length]; ++i, ++code, ++index) {
      if (length > kLookupBits) continue;
      const uint32_t symbol = source.huffval[index];
      const int size = static_cast<int>(symbol & 15);
      const uint32_t run = symbol >> 4;
      uint32_t advance = run + 1;
      if (is_dc) {
        advance = 0;
      } else if (size == 0 && run != 15) {
        advance = kEndOfBlock;
      }
      const int rest = kLookupBits - length;
      for (uint32_t tail = 0; tail < (1U << rest); ++tail) {
        uint32_t entry = static_cast<uint32_t>(length) | advance << kAdvanceShift;
        if (size > 0 && size <= rest) {
          const int value = extend(tail >> (rest - size), size);
          entry += static_cast<uint32_t>(size);
          entry |= static_cast<uint32_t>(value) << kValueShift;
        } else {
          entry |= static_cast<uint32_t>(size) << kSizeShift;
        }
        table.entries[(code << rest) + tail] = entry;
      }
    }
    table.limit[static_cast<size_t>(length)] = code << (16 - length);
  }
  table.limit[17] = 0xFFFFFFFF;
  if (!is_dc) build_skips(table);
  table.is_built = true;
}

void JpegHuffman::build_skips(Table& table) {
  for (uint32_t window = 0; window < (1U << kSkipBits); ++window) {
    uint32_t used = 0;
    uint32_t advance = 0;
    uint32_t is_end = 0;
    while (is_end == 0) {
      // Zeros come in from the right; symbols that reach into them are not taken.
      const uint32_t rest = (window << used) & ((1U << kSkipBits) - 1);
      const uint32_t entry = table.entries[rest >> (kSkipBits - kLookupBits)];
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
    table.skips[window] =
        static_cast<uint16_t>(used | is_end << kSkipEndShift | advance << kSkipAdvanceShift);
  }
}

// The symbol and length (symbol << 8 | length) of a code that is longer than the lookup; length 17 where there is none.
uint32_t JpegHuffman::long_code(const Table& table, uint64_t window) {
  const auto code = static_cast<uint32_t>(window >> 48);
  size_t length = kLookupBits + 1;
  while (code >= table.limit[length]) ++length;
  if (length > 16) return 17;
  const int index = static_cast<int>(code >> (16 - length)) + table.offset[length];
  return uint32_t{table.symbols[static_cast<size_t>(index & 255)]} << 8 |
         static_cast<uint32_t>(length);
}

bool JpegHuffman::decode_dc(Bits& bits, const Table& table, int& last_dc) {
  bits.refill();
  uint32_t entry = table.entries[bits.window >> (64 - kLookupBits)];
  int size = static_cast<int>(entry >> kSizeShift & kSizeMask);
  int difference = static_cast<int>(entry) >> kValueShift;
  if (entry == kLongCode) {
    entry = long_code(table, bits.window);
    if ((entry & 255) > 16) return false;
    size = static_cast<int>(entry >> 8 & 15);
    difference = 0;
  }
  bits.drop(static_cast<int>(entry & kLengthMask));
  if (size > 0) {
    difference = extend(static_cast<uint32_t>(bits.window >> (64 - size)), size);
    bits.drop(size);
  }
  last_dc += difference;
  return std::abs(last_dc) < (1 << 20);
}

bool JpegHuffman::decode_ac(Bits& bits, const Table& table, JCOEF* block) {
  for (uint32_t k = 0;;) {
    if (bits.num_bits < 32) bits.refill();
    const uint32_t entry = table.entries[bits.window >> (64 - kLookupBits)];
    if (entry != kLongCode) {
      bits.drop(static_cast<int>(entry & kLengthMask));
      k += entry >> kAdvanceShift & kAdvanceMask;
      const int size = static_cast<int>(entry >> kSizeShift & kSizeMask);
      if (size == 0) {
        if (k >= 63) {
          // The end of the block, or its last coefficient.
          if ((entry >> kValueShift) != 0)
            block[kNaturalOrder[k]] = static_cast<JCOEF>(static_cast<int>(entry) >> kValueShift);
          return true;
        }
        block[kNaturalOrder[k]] = static_cast<JCOEF>(static_cast<int>(entry) >> kValueShift);
        continue;
      }
      block[kNaturalOrder[k]] =
          static_cast<JCOEF>(extend(static_cast<uint32_t>(bits.window >> (64 - size)), size));
      bits.drop(size);
      if (k >= 63) return true;
      continue;
    }
    const uint32_t code = long_code(table, bits.window);
    if ((code & 255) > 16) return false;
    bits.drop(static_cast<int>(code & 255));
    const uint32_t run = code >> 12;
    const int size = static_cast<int>(code >> 8 & 15);
    if (size == 0) {
      if (run != 15) return true;
      k += 16;
    } else {
      k += run + 1;
      block[kNaturalOrder[k]] =
          static_cast<JCOEF>(extend(static_cast<uint32_t>(bits.window >> (64 - size)), size));
      bits.drop(size);
    }
    if (k >= 63) return true;
  }
}

bool JpegHuffman::skip_symbol(Bits& bits, const Table& table, uint32_t& k) {
  uint32_t entry = table.entries[bits.window >> (64 - kLookupBits)];
  uint32_t length = (entry & kLengthMask) + (entry >> kSizeShift & kSizeMask);
  uint32_t advance = entry >> kAdvanceShift & kAdvanceMask;
  if (entry == kLongCode) {
    entry = long_code(table, bits.window);
    if ((entry & 255) > 16) return false;
    const uint32_t size = entry >> 8 & 15;
    const uint32_t run = entry >> 12;
    length = (entry & 255) + size;
    advance = size == 0 && run != 15 ? kEndOfBlock : run + 1;
  }
  bits.drop(static_cast<int>(length));
  k += advance;
  return true;
}

bool JpegHuffman::skip_ac(Bits& bits, const Table& table) {
  for (uint32_t k = 0; k < 63;) {
    if (bits.num_bits < 32) bits.refill();
    const uint32_t skip = table.skips[bits.window >> (64 - kSkipBits)];
    const uint32_t after = k + (skip >> kSkipAdvanceShift);
    // A block may end without a symbol for it: then what follows in the entry is already the next block.
    if (skip == 0 || after >= 63) {
      if (!skip_symbol(bits, table, k)) return false;
      continue;
    }
    bits.drop(static_cast<int>(skip & kSkipLengthMask));
    if ((skip >> kSkipEndShift & 1) != 0) return true;
    k = after;
  }
  return true;
}

void JpegHuffman::remove_stuffing(const jpeg_source_mgr& source) {
  const uint8_t* in = source.next_input_byte;
  const uint8_t* const in_end = in + source.bytes_in_buffer;
  uint8_t* out = scan_.reserve(source.bytes_in_buffer + kPaddingBytes);
  next_ = out;
  while (in < in_end) {
    const auto* marker =
        static_cast<const uint8_t*>(std::memchr(in, 0xFF, static_cast<size_t>(in_end - in)));
    const uint8_t* const stop = marker != nullptr ? marker : in_end;
    const auto length = static_cast<size_t>(stop - in);
    std::memcpy(out, in, length);
    out += length;
    in = stop + 1;
    if (in >= in_end) break;
    if (*in == 0xFF) continue;  // a fill byte before a marker
    if (*in != 0) break;
    *out++ = 0xFF;
    ++in;
  }
  std::memset(out, 0, kPaddingBytes);
  end_ = out;
}

bool JpegHuffman::attach(jpeg_decompress_struct& info, int first_column, int last_column) {
  failed_ = false;
#ifdef FFKIT_HAVE_JPEG_INTERNALS
  if (info.progressive_mode || info.arith_code || jpeg_has_multiple_scans(&info) ||
      info.restart_interval != 0 || info.comps_in_scan != info.num_components ||
      info.data_precision != 8) {
    return false;
  }
  for (int i = 0; i < info.blocks_in_MCU; ++i) {
    const int component = info.MCU_membership[i];
    const jpeg_component_info& facts = *info.cur_comp_info[component];
    const auto dc = static_cast<size_t>(facts.dc_tbl_no);
    const auto ac = static_cast<size_t>(facts.ac_tbl_no);
    build(*info.dc_huff_tbl_ptrs[dc], true, dc_tables_[dc]);
    build(*info.ac_huff_tbl_ptrs[ac], false, ac_tables_[ac]);
    kinds_[static_cast<size_t>(i)] = {&dc_tables_[dc], &ac_tables_[ac], component};
  }
  last_dc_ = {};
  window_ = 0;
  num_bits_ = 0;
  column_ = 0;
  num_columns_ = static_cast<int>(info.MCUs_per_row);
  first_column_ = first_column;
  last_column_ = last_column;
  remove_stuffing(*info.src);
  info.client_data = this;
  info.entropy->decode_mcu = decode_mcu;
  return true;
#else
  static_cast<void>(info);
  static_cast<void>(first_column);
  static_cast<void>(last_column);
  return false;
#endif
}

boolean JpegHuffman::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto& self = *static_cast<JpegHuffman*>(info->client_data);
  const bool is_wanted =
      blocks != nullptr && self.column_ >= self.first_column_ && self.column_ <= self.last_column_;
  if (++self.column_ == self.num_columns_) self.column_ = 0;
  if (self.failed_) return TRUE;  // grey until the caller asks
  Bits bits{self.window_, self.num_bits_, self.next_};
  for (int i = 0; i < info->blocks_in_MCU; ++i) {
    const BlockKind& kind = self.kinds_[static_cast<size_t>(i)];
    int& last_dc = self.last_dc_[static_cast<size_t>(kind.component)];
    bool is_good = self.decode_dc(bits, *kind.dc, last_dc);
    if (is_good && is_wanted) {
      JCOEF* block = *blocks[i];
      block[0] = static_cast<JCOEF>(last_dc);
      is_good = self.decode_ac(bits, *kind.ac, block);
    } else if (is_good) {
      is_good = self.skip_ac(bits, *kind.ac);
    }
    // Bits taken so far against bits there are: libjpeg knows what to make of a scan that ends early.
    if (!is_good || (bits.next - self.end_) * 8 > bits.num_bits) {
      self.failed_ = true;
      return TRUE;
    }
  }
  self.window_ = bits.window;
  self.num_bits_ = bits.num_bits;
  self.next_ = bits.next;
  return TRUE;
}

}  // namespace ffkit
