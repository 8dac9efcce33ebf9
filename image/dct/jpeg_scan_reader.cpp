#include "dct/jpeg_scan_reader.h"

#include <cstring>

namespace ffkit {
namespace {

// Whether each symbol has one code, and at most one of them ends a block (run 0 to 14 without a
// value; in a DC table no symbol has a run).
bool is_plain_table(const JHUFF_TBL& table) {
  std::array<bool, 256> has_code = {};
  size_t num_symbols = 0;
  for (size_t length = 1; length <= 16; ++length) num_symbols += table.bits[length];
  for (size_t i = 0; i < num_symbols; ++i) {
    const uint8_t symbol = table.huffval[i];
    const bool ends_oddly = symbol % 16 == 0 && symbol != 0 && symbol != 0xF0;
    if (has_code[symbol] || ends_oddly) return false;
    has_code[symbol] = true;
  }
  return true;
}

}  // namespace

void JpegScanReader::begin(const JpegHead& head, std::span<const std::byte> jpeg) {
  geometry_ = &head.geometry();
  is_plain_ = true;
  for (size_t c = 0; c < geometry_->num_components; ++c) {
    // Two colours mostly have the same tables, which then take less of the cache.
    size_t dc = 0;
    while (&head.dc_table(dc) != &head.dc_table(c)) ++dc;
    dc_table_[c] = &dc_tables_[dc];
    dc_tables_[dc].build(head.dc_table(c), true, false);
    size_t ac = 0;
    while (&head.ac_table(ac) != &head.ac_table(c)) ++ac;
    ac_table_[c] = &ac_tables_[ac];
    ac_tables_[ac].build(head.ac_table(c), false, false);
    is_plain_ &= is_plain_table(head.dc_table(c)) && is_plain_table(head.ac_table(c));
  }
  last_dc_ = {};
  end_in_file_ = head.num_bytes();
  remove_stuffing(jpeg.subspan(head.num_bytes()));
  bits_ = {.next = scan_.data()};
}

void JpegScanReader::remove_stuffing(std::span<const std::byte> scan) {
  const auto* in = reinterpret_cast<const uint8_t*>(scan.data());
  const uint8_t* const begin = in;
  const uint8_t* const in_end = in + scan.size();
  if (scan_.size() < scan.size() + JpegBits::kPaddingBytes) {
    scan_.resize(scan.size() + JpegBits::kPaddingBytes);
  }
  uint8_t* out = scan_.data();
  while (in < in_end) {
    const auto* marker =
        static_cast<const uint8_t*>(std::memchr(in, 0xFF, static_cast<size_t>(in_end - in)));
    const uint8_t* const stop = marker != nullptr ? marker : in_end;
    const auto length = static_cast<size_t>(stop - in);
    std::memcpy(out, in, length);
    out += length;
    in = stop;
    if (in_end - in < 2 || in[1] != 0) break;
    *out++ = 0xFF;
    in += 2;
  }
  std::memset(out, 0, JpegBits::kPaddingBytes);
  end_ = out;
  end_in_file_ += static_cast<size_t>(in - begin);
}

bool JpegScanReader::read_mcu(int16_t* blocks, int16_t* dc) {
  JpegBits bits = bits_;
  bool is_plain = true;
  for (size_t i = 0; i < geometry_->blocks_in_mcu; ++i) {
    const size_t c = geometry_->component_of_block[i];
    int& last_dc = last_dc_[c];
    int16_t* const block = blocks + 64 * i;
    uint32_t place = 0;
    uint32_t step = 0;
    if (!bits.decode_dc(*dc_table_[c], last_dc) ||
        !bits.decode_ac(*ac_table_[c], block, place, step)) {
      return false;
    }
    // An end of block comes right behind a value, or there is none; without it the last value is at
    // the last place.
    const bool is_ended = step == JpegHuffmanTable::kEndOfBlock;
    const uint32_t last = is_ended ? place : place + step;
    is_plain &=
        (is_ended && place == 0) || (block[kNaturalOrder[last]] != 0 && (is_ended || last == 63));
    if (last_dc > kMaxDctDc || last_dc < -kMaxDctDc - 1) return false;
    dc[i] = static_cast<int16_t>(last_dc);
    // Bits taken so far against bits there are.
    if ((bits.next - end_) * 8 > bits.num_bits) return false;
  }
  bits_ = bits;
  is_plain_ &= is_plain;
  return true;
}

std::optional<uint8_t> JpegScanReader::padding() const {
  const auto left = (end_ - bits_.next) * 8 + bits_.num_bits;
  if (left < 0 || left > 7) return std::nullopt;
  const auto last = left == 0 ? uint8_t{0} : end_[-1];
  return static_cast<uint8_t>(last & ((1U << left) - 1));
}

}  // namespace ffkit
