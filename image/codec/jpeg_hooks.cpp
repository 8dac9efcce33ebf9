#include <algorithm>
#include <cstring>

#include "codec/jpeg_decoder.h"

// libjpeg's internal interface, of which only the entropy decoder's entry point is used.
// image/CMakeLists.txt names the versions it was tested with.
#ifdef FFKIT_JPEG_HUFFMAN
#include <jpegint.h>  // has no guard of its own
#endif

namespace ffkit {
namespace {

using Table = JpegHuffmanTable;

#ifdef FFKIT_JPEG_HUFFMAN
// Whether the frame is one scan of sequential Huffman codes of 8 bits without restarts: what the
// entropy decoders of our own take. After jpeg_start_decompress().
bool is_one_plain_scan(jpeg_decompress_struct& info) {
  return !info.progressive_mode && !info.arith_code && !jpeg_has_multiple_scans(&info) &&
         info.restart_interval == 0 && info.comps_in_scan == info.num_components &&
         info.data_precision == 8;
}
#endif

}  // namespace

bool JpegHuffman::skip_symbol(JpegBits& bits, const JpegHuffmanTable& table, uint32_t& k) {
  const uint32_t entry = table.entries[bits.top(Table::kLookupBits)];
  uint32_t length = (entry & Table::kLengthMask) + (entry >> Table::kSizeShift & Table::kSizeMask);
  uint32_t advance = entry >> Table::kAdvanceShift & Table::kAdvanceMask;
  if (entry == Table::kLongCode) {
    const Table::Symbol symbol = table.long_code(bits.window);
    if (symbol.length > 16) return false;
    length = symbol.length + symbol.size;
    advance = symbol.size == 0 && symbol.run != 15 ? Table::kEndOfBlock : symbol.run + 1;
  }
  bits.drop(length);
  k += advance;
  return true;
}

[[gnu::always_inline]] inline bool JpegHuffman::skip_ac(JpegBits& bits,
                                                        const JpegHuffmanTable& table) {
  for (uint32_t k = 0; k < 63;) {
    if (bits.num_bits < 32) bits.refill();
    const uint32_t skip = table.skips[bits.top(Table::kSkipBits)];
    const uint32_t after = k + (skip >> Table::kSkipAdvanceShift);
    // A block may end without a symbol for it: then what follows in the entry is already the next
    // block.
    if (skip == 0 || after >= 63) {
      if (!skip_symbol(bits, table, k)) return false;
      continue;
    }
    bits.drop(skip & Table::kSkipLengthMask);
    if ((skip >> Table::kSkipEndShift & 1) != 0) return true;
    k = after;
  }
  return true;
}

void JpegHuffman::remove_stuffing(const jpeg_source_mgr& source) {
  const uint8_t* in = source.next_input_byte;
  const uint8_t* const in_end = in + source.bytes_in_buffer;
  uint8_t* out = scan_.reserve(source.bytes_in_buffer + JpegBits::kPaddingBytes);
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
  std::memset(out, 0, JpegBits::kPaddingBytes);
  end_ = out;
}

bool JpegHuffman::is_built() {
#ifdef FFKIT_JPEG_HUFFMAN
  return true;
#else
  return false;
#endif
}

bool JpegHuffman::can_take(std::span<const std::byte> jpeg) {
  const auto byte = [&](size_t i) { return std::to_integer<unsigned>(jpeg[i]); };
  // Markers behind the first one: FF, the kind, and the length of what follows, itself included
  // (T.81, B.1.1).
  for (size_t i = 2; i + 4 <= jpeg.size();) {
    if (byte(i) != 0xFF) return false;
    const unsigned kind = byte(i + 1);
    if (kind == 0xFF) {  // a fill byte
      ++i;
      continue;
    }
    // C0 and C1 are sequential and Huffman coded; C2 is progressive, C3 and C7 lossless, C9 and
    // above arithmetic.
    const bool is_frame =
        kind >= 0xC0 && kind <= 0xCF && kind != 0xC4 && kind != 0xC8 && kind != 0xCC;
    if (is_frame) return kind == 0xC0 || kind == 0xC1;
    i += 2 + (byte(i + 2) << 8) + byte(i + 3);
  }
  return false;
}

bool JpegHuffman::attach([[maybe_unused]] jpeg_decompress_struct& info,
                         [[maybe_unused]] int first_column, [[maybe_unused]] int last_column) {
  failed_ = false;
#ifdef FFKIT_JPEG_HUFFMAN
  if (!is_one_plain_scan(info)) {
    return false;
  }
  for (int i = 0; i < info.blocks_in_MCU; ++i) {
    const int component = info.MCU_membership[i];
    const jpeg_component_info& facts = *info.cur_comp_info[component];
    const auto dc = static_cast<size_t>(facts.dc_tbl_no);
    const auto ac = static_cast<size_t>(facts.ac_tbl_no);
    dc_tables_[dc].build(*info.dc_huff_tbl_ptrs[dc], true, false);
    ac_tables_[ac].build(*info.ac_huff_tbl_ptrs[ac], false, true);
    kinds_[i] = {&dc_tables_[dc], &ac_tables_[ac], component};
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
  return false;
#endif
}

boolean JpegHuffman::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto& self = *static_cast<JpegHuffman*>(info->client_data);
  const bool is_wanted =
      blocks != nullptr && self.column_ >= self.first_column_ && self.column_ <= self.last_column_;
  if (++self.column_ == self.num_columns_) self.column_ = 0;
  if (self.failed_) return TRUE;  // grey until the caller asks
  JpegBits bits{self.window_, self.num_bits_, self.next_};
  for (int i = 0; i < info->blocks_in_MCU; ++i) {
    const BlockKind& kind = self.kinds_[i];
    int& last_dc = self.last_dc_[kind.component];
    bool is_good = bits.decode_dc(*kind.dc, last_dc);
    if (is_good && is_wanted) {
      JCOEF* block = *blocks[i];
      block[0] = static_cast<JCOEF>(last_dc);
      is_good = bits.decode_ac(*kind.ac, block);
    } else if (is_good) {
      is_good = self.skip_ac(bits, *kind.ac);
    }
    // Bits taken so far against bits there are: libjpeg knows what to make of a scan that ends
    // early.
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

bool JpegDct::attach([[maybe_unused]] jpeg_decompress_struct& info,
                     [[maybe_unused]] int first_column, [[maybe_unused]] int last_column,
                     [[maybe_unused]] const DctFile& file) {
  failed_ = false;
#ifdef FFKIT_JPEG_HUFFMAN
  if (!is_one_plain_scan(info) ||
      static_cast<size_t>(info.num_components) != file.num_components() ||
      size_t{info.MCU_rows_in_scan} != file.num_rows()) {
    return false;
  }
  DctGeometry geometry;
  geometry.mcus_per_row = info.MCUs_per_row;
  geometry.num_rows = info.MCU_rows_in_scan;
  dc_alone_ = true;
  for (int c = 0; c < info.comps_in_scan; ++c) {
    const jpeg_component_info& component = *info.cur_comp_info[c];
    geometry.add_component(static_cast<size_t>(component.MCU_blocks));
    dc_alone_ = dc_alone_ && scaled_block_size(component) == 1;
  }
  row_.begin(geometry, file.codes());
  file_ = &file;
  num_blocks_ = geometry.blocks_in_mcu;
  num_columns_ = geometry.mcus_per_row;
  first_column_ = static_cast<size_t>(first_column);
  last_column_ = std::min(static_cast<size_t>(last_column), num_columns_ - 1);
  next_row_ = 0;
  column_ = 0;
  info.client_data = this;
  info.entropy->decode_mcu = decode_mcu;
  return true;
#else
  return false;
#endif
}

boolean JpegDct::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto& self = *static_cast<JpegDct*>(info->client_data);
  const size_t column = self.column_;
  if (++self.column_ == self.num_columns_) {
    self.column_ = 0;
    ++self.next_row_;
  }
  // Rows that are skipped come without blocks.
  const bool is_wanted = blocks != nullptr && column >= self.first_column_ &&
                         column <= self.last_column_ && !self.failed_;
  if (is_wanted && !self.read_mcu(*blocks[0], column))
    self.failed_ = true;  // grey until the caller asks
  return TRUE;
}

// libjpeg keeps the blocks of an MCU one behind the other, and fills them with 0 at once
// (jdcoefct.c).
bool JpegDct::read_mcu(JCOEF* blocks, size_t column) {
  if (column == first_column_) {
    const size_t row = column_ == 0 ? next_row_ - 1 : next_row_;
    if (row >= file_->num_rows() || !row_.open(file_->row(row), dc_alone_)) return false;
    if (dc_alone_) {
      row_.skip_dc(first_column_);
    } else if (!row_.skip_mcus(first_column_)) {
      return false;
    }
  }
  if (dc_alone_) {
    row_.read_dc(blocks);
    return true;
  }
  if (!row_.read_mcu(blocks)) return false;
  return column + 1 < num_columns_ || row_.is_at_end();
}

}  // namespace ffkit
