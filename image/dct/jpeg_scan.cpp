#include "dct/jpeg_scan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace ffkit {
namespace {

unsigned byte_at(std::span<const std::byte> bytes, size_t i) {
  return std::to_integer<unsigned>(bytes[i]);
}

unsigned u16_at(std::span<const std::byte> bytes, size_t i) {
  return byte_at(bytes, i) << 8 | byte_at(bytes, i + 1);
}

bool is_frame(unsigned marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Why a frame of this marker has no dct code (T.81, table B.1).
std::optional<DctRefusal> refuse_frame(unsigned marker) {
  switch (marker) {
    case 0xC0:
    case 0xC1:
      return std::nullopt;
    case 0xC2:
      return DctRefusal::progressive;
    case 0xC9:
    case 0xCA:
      return DctRefusal::arithmetic;
    default:
      return DctRefusal::lossless;
  }
}

// Whether codes of these lengths exist: no more of a length than are left, and none of ones alone,
// as libjpeg wants it.
bool has_codes(const JHUFF_TBL& table) {
  unsigned code = 0;
  for (unsigned length = 1; length <= 16; ++length, code <<= 1) {
    code += table.bits[length];
    if (code >= 1U << length && table.bits[length] > 0) return false;
  }
  return true;
}

}  // namespace

std::optional<DctRefusal> JpegHead::read(std::span<const std::byte> jpeg) {
  has_frame_ = false;
  has_table_ = {};
  restart_interval_ = 0;
  if (jpeg.size() < 3 || u16_at(jpeg, 0) != 0xFFD8 || byte_at(jpeg, 2) != 0xFF) {
    return DctRefusal::not_jpeg;
  }
  // Markers: FF, the kind, and the length of what follows, itself included (T.81, B.1.1).
  for (size_t i = 2; i + 4 <= jpeg.size();) {
    if (byte_at(jpeg, i) != 0xFF) return DctRefusal::irregular_header;
    const unsigned marker = byte_at(jpeg, i + 1);
    if (marker == 0xFF) {  // a fill byte
      ++i;
      continue;
    }
    const size_t length = u16_at(jpeg, i + 2);
    // Decoders pass over these two where they mean nothing.
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7)) return DctRefusal::irregular_header;
    const bool stands_alone = marker == 0 || marker == 0xD8 || marker == 0xD9;
    if (stands_alone || length < 2 || length > jpeg.size() - i - 2) return DctRefusal::damaged;
    const auto content = jpeg.subspan(i + 4, length - 2);
    i += 2 + length;
    if (is_frame(marker)) {
      if (has_frame_) return DctRefusal::damaged;
      if (const auto refusal = refuse_frame(marker)) return refusal;
      if (const auto refusal = read_frame(content)) return refusal;
    } else if (marker == 0xC4) {
      if (!read_tables(content)) return DctRefusal::damaged;
    } else if (marker == 0xDD) {
      if (content.size() != 2) return DctRefusal::damaged;
      restart_interval_ = u16_at(content, 0);
    } else if (marker == 0xDA) {
      num_bytes_ = i;
      return read_scan(content);
    }
  }
  return DctRefusal::damaged;
}

std::optional<DctRefusal> JpegHead::read_frame(std::span<const std::byte> content) {
  if (content.size() < 6) return DctRefusal::damaged;
  if (byte_at(content, 0) != 8) return DctRefusal::precision;
  height_ = u16_at(content, 1);
  width_ = u16_at(content, 3);
  num_components_ = byte_at(content, 5);
  if (content.size() != 6 + 3 * num_components_) return DctRefusal::damaged;
  if (num_components_ != 1 && num_components_ != 3) return DctRefusal::components;
  if (height_ == 0 || width_ == 0) return DctRefusal::damaged;
  for (size_t c = 0; c < num_components_; ++c) {
    const unsigned sampling = byte_at(content, 7 + 3 * c);
    frame_[c] = {byte_at(content, 6 + 3 * c), sampling >> 4, sampling & 15};
    if (frame_[c].h < 1 || frame_[c].h > 4 || frame_[c].v < 1 || frame_[c].v > 4) {
      return DctRefusal::damaged;
    }
  }
  has_frame_ = true;
  return std::nullopt;
}

bool JpegHead::read_tables(std::span<const std::byte> content) {
  while (!content.empty()) {
    if (content.size() < 17) return false;
    const unsigned kind = byte_at(content, 0) >> 4;
    const unsigned number = byte_at(content, 0) & 15;
    if (kind > 1 || number >= NUM_HUFF_TBLS) return false;
    JHUFF_TBL& table = tables_[kind][number];
    table = {};
    size_t num_symbols = 0;
    for (size_t i = 1; i <= 16; ++i) {
      table.bits[i] = static_cast<UINT8>(byte_at(content, i));
      num_symbols += table.bits[i];
    }
    if (num_symbols > 256 || num_symbols > content.size() - 17 || !has_codes(table)) return false;
    for (size_t i = 0; i < num_symbols; ++i) {
      table.huffval[i] = static_cast<UINT8>(byte_at(content, 17 + i));
      if (kind == 0 && table.huffval[i] > 15) return false;
    }
    has_table_[kind][number] = true;
    content = content.subspan(17 + num_symbols);
  }
  return true;
}

std::optional<DctRefusal> JpegHead::read_scan(std::span<const std::byte> content) {
  if (!has_frame_ || content.empty()) return DctRefusal::damaged;
  const size_t count = byte_at(content, 0);
  if (content.size() != 4 + 2 * count) return DctRefusal::damaged;
  if (count != num_components_) return DctRefusal::several_scans;
  if (restart_interval_ != 0) return DctRefusal::restart_markers;
  std::array<bool, DctGeometry::kMaxComponents> is_taken = {};
  for (size_t c = 0; c < count; ++c) {
    const unsigned id = byte_at(content, 1 + 2 * c);
    const unsigned tables = byte_at(content, 2 + 2 * c);
    size_t index = 0;
    while (index < count && (frame_[index].id != id || is_taken[index])) ++index;
    if (index == count) return DctRefusal::damaged;
    is_taken[index] = true;
    scan_[c] = {index, tables >> 4, tables & 15};
    if (scan_[c].dc >= NUM_HUFF_TBLS || scan_[c].ac >= NUM_HUFF_TBLS) return DctRefusal::damaged;
    if (!has_table_[0][scan_[c].dc] || !has_table_[1][scan_[c].ac]) {
      // Decoders have the tables 0 and 1 of T.81, K.3.
      return scan_[c].dc <= 1 && scan_[c].ac <= 1 ? DctRefusal::no_tables : DctRefusal::damaged;
    }
  }
  // All coefficients at once, which is what a sequential scan has (T.81, table B.3).
  const size_t end = 1 + 2 * count;
  if (byte_at(content, end) != 0 || byte_at(content, end + 1) != 63 ||
      byte_at(content, end + 2) != 0) {
    return DctRefusal::irregular_header;
  }
  if (!set_geometry()) return DctRefusal::damaged;
  return std::nullopt;
}

bool JpegHead::set_geometry() {
  geometry_ = {};
  unsigned h_max = 1;
  unsigned v_max = 1;
  if (num_components_ == 1) {
    geometry_.add_component(1);  // a scan of one component has MCUs of one block (T.81, A.2.2)
  } else {
    unsigned num_blocks = 0;
    for (const FrameComponent& component : frame_) {
      h_max = std::max(h_max, component.h);
      v_max = std::max(v_max, component.v);
      num_blocks += component.h * component.v;
    }
    if (num_blocks > DctGeometry::kMaxBlocksInMcu) return false;
    for (const ScanComponent& component : scan_) {
      geometry_.add_component(size_t{frame_[component.index].h} * frame_[component.index].v);
    }
  }
  geometry_.mcus_per_row = (width_ + 8 * h_max - 1) / (8 * h_max);
  geometry_.num_rows = (height_ + 8 * v_max - 1) / (8 * v_max);
  return true;
}

std::optional<DctRefusal> refuse_tail(std::span<const std::byte> tail) {
  const auto byte_at = [tail](size_t i) { return std::to_integer<size_t>(tail[i]); };
  for (size_t i = 0; i + 1 < tail.size();) {
    const size_t marker = byte_at(i + 1);
    // As libjpeg looks for the next marker: what is none is skipped, and any number of FF may stand
    // before one (T.81, B.1.1.2).
    if (byte_at(i) != 0xFF || marker == 0xFF) {
      ++i;
      continue;
    }
    if (marker == 0xD9) return std::nullopt;
    if (marker == 0xDA) return DctRefusal::several_scans;
    const bool stands_alone = marker <= 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (stands_alone) {
      i += 2;
    } else if (i + 4 <= tail.size()) {
      i += 2 + (byte_at(i + 2) << 8) + byte_at(i + 3);
    } else {
      break;
    }
  }
  return DctRefusal::damaged;
}

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

namespace {

constexpr unsigned kLengthBits = 5;
constexpr uint32_t kLengthMask = (1U << kLengthBits) - 1;
constexpr int kMaxSmall = 32;
// Instead of a code where there is none. It has a length, so that writing it does no harm.
constexpr uint32_t kNoCode = 1U << 31 | 1;
constexpr uint64_t kNoCodeAndBits = uint64_t{1} << 63 | 1;

// A block takes at most 64 codes of 16 bits and values of 15.
constexpr size_t kMaxBlockBytes = 64 * (16 + 15) / 8 + 16;

}  // namespace

void JpegScanWriter::Codes::build(const JHUFF_TBL& table) {
  of_symbol.fill(kNoCode);
  uint32_t code = 0;
  size_t i = 0;
  for (uint32_t length = 1; length <= 16; ++length, code <<= 1) {
    for (int n = 0; n < table.bits[length]; ++n, ++code, ++i) {
      // As libjpeg's encoder: a symbol with two codes has the last one.
      of_symbol[table.huffval[i]] = code << kLengthBits | length;
    }
  }
}

// The code of a run and a coefficient, and behind it the coefficient's bits; 33 bits at most with
// the length.
uint64_t JpegScanWriter::with_bits(const std::array<uint32_t, 256>& codes, unsigned run,
                                   int value) {
  const auto size = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(std::abs(value))));
  const uint32_t code = codes[run << 4 | size];
  if (code == kNoCode) return kNoCodeAndBits;
  // Of a negative value the bits of the one below, as many as it has (T.81, F.1.2.1).
  const uint32_t bits = static_cast<uint32_t>(value + (value >> 31)) & ((1U << size) - 1);
  return (uint64_t{code >> kLengthBits} << size | bits) << kLengthBits |
         ((code & kLengthMask) + size);
}

void JpegScanWriter::SmallCodes::build(const Codes& codes) {
  for (unsigned run = 0; run < 16; ++run) {
    for (uint32_t i = 0; i < 2U * kMaxSmall; ++i) {
      const uint64_t code = with_bits(codes.of_symbol, run, static_cast<int>(i) - kMaxSmall);
      of_coefficient[2U * kMaxSmall * run + i] =
          code == kNoCodeAndBits ? kNoCode : static_cast<uint32_t>(code);
    }
  }
}

// Where bits go; a copy of the writer's, which stays in registers for a block.
struct JpegScanWriter::Output {
  uint64_t window;    // the last bits, less than a byte of them, in its highest
  unsigned num_bits;  // of window
  std::byte* next;

  // At most 56 bits, which nothing else is set in. Writes 8 bytes each time, of which the next call
  // may overwrite some: that takes no branch.
  void put(uint64_t bits, unsigned count) {
    num_bits += count;
    window |= bits << (64 - num_bits);
    const uint64_t swapped = __builtin_bswap64(window);
    std::memcpy(next, &swapped, sizeof(swapped));
    next += num_bits / 8;
    window <<= num_bits & ~7U;
    num_bits %= 8;
  }
};

void JpegScanWriter::begin(const JpegHead& head) {
  for (size_t c = 0; c < head.geometry().num_components; ++c) {
    dc_codes_[c].build(head.dc_table(c));
    ac_codes_[c].build(head.ac_table(c));
    small_codes_[c].build(ac_codes_[c]);
  }
  last_dc_ = {};
  used_ = 0;
  window_ = 0;
  num_bits_ = 0;
}

bool JpegScanWriter::write_block(size_t component, const int16_t* block, uint64_t places) {
  if (scan_.size() - used_ < kMaxBlockBytes) scan_.resize(2 * scan_.size() + kMaxBlockBytes);
  Output out{window_, num_bits_, scan_.data() + used_};

  const int difference = block[0] - last_dc_[component];
  last_dc_[component] = block[0];
  const auto dc_size =
      static_cast<unsigned>(std::bit_width(static_cast<unsigned>(std::abs(difference))));
  const uint32_t dc_code = dc_codes_[component].of_symbol[dc_size];
  if (dc_code == kNoCode) return false;
  const uint32_t dc_bits =
      static_cast<uint32_t>(difference + (difference >> 31)) & ((1U << dc_size) - 1);
  out.put(uint64_t{dc_code >> kLengthBits} << dc_size | dc_bits, (dc_code & kLengthMask) + dc_size);

  const std::array<uint32_t, 256>& codes = ac_codes_[component].of_symbol;
  const std::array<uint32_t, 16 * 64>& small_codes = small_codes_[component].of_coefficient;
  unsigned last = 0;
  uint32_t all = 0;  // codes, ored: bit 31 says that one of them is none

  for (places &= ~uint64_t{1}; places != 0; places &= places - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(places));
    unsigned run = place - last - 1;
    last = place;
    for (; run > 15; run -= 16) {
      all |= codes[0xF0];
      out.put(codes[0xF0] >> kLengthBits, codes[0xF0] & kLengthMask);
    }
    const int value = block[kNaturalOrder[place]];
    const auto small = static_cast<uint32_t>(value + kMaxSmall);
    if (small < 2U * kMaxSmall) {
      const uint32_t code = small_codes[2U * kMaxSmall * run + small];
      all |= code;
      out.put(code >> kLengthBits, code & kLengthMask);
    } else {
      const uint64_t code = with_bits(codes, run, value);
      all |= code == kNoCodeAndBits ? kNoCode : 0;
      out.put(code << 1 >> (kLengthBits + 1), static_cast<unsigned>(code & kLengthMask));
    }
  }
  if (last < 63) {
    all |= codes[0];
    out.put(codes[0] >> kLengthBits, codes[0] & kLengthMask);
  }
  window_ = out.window;
  num_bits_ = out.num_bits;
  used_ = static_cast<size_t>(out.next - scan_.data());
  return all >> 31 == 0;
}

bool JpegScanWriter::finish(uint8_t padding, std::vector<std::byte>& out) {
  const unsigned missing = (8 - num_bits_) % 8;
  if (padding >> missing != 0) return false;
  if (missing > 0) {
    scan_[used_++] = static_cast<std::byte>(window_ >> 56 | padding);
  }
  // A byte 00 follows each FF.
  const std::byte* in = scan_.data();
  const std::byte* const end = in + used_;
  while (in < end) {
    const auto* found =
        static_cast<const std::byte*>(std::memchr(in, 0xFF, static_cast<size_t>(end - in)));
    if (found == nullptr) {
      out.insert(out.end(), in, end);
      break;
    }
    out.insert(out.end(), in, found + 1);
    out.push_back(std::byte{0});
    in = found + 1;
  }
  return true;
}

}  // namespace ffkit
