#include "dct/dct_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include <ffkit/image/dct_picture.h>

#include "base/make_error.h"
#include "dct/dct_kernels.h"

namespace ffkit {
namespace {

uint32_t u32_at(const uint8_t* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

}  // namespace

void throw_broken_dct(std::string_view what) {
  throw error_of(ErrorCode::corrupt,
                 "the dct code of a JPEG is broken ({}); convert it again from its source", what);
}

void DctFile::open(std::span<const std::byte> dct) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(dct.data());
  if (!is_dct_picture(dct)) throw_broken_dct("its first bytes are wrong");
  if (dct.size() < kHeaderBytes) throw_broken_dct("its header is incomplete");
  if (bytes[6] != kVersion) {
    throw error_of(ErrorCode::unsupported,
                   "the picture has version {} of the dct code, but this program reads version {}; "
                   "use a newer ffkit",
                   bytes[6], kVersion);
  }
  if (u32_at(bytes + 8) != dct.size()) {
    throw_broken_dct(
        fmt::format("it has {} bytes, but must have {}", dct.size(), u32_at(bytes + 8)));
  }
  padding_ = bytes[7];
  const uint64_t head_bytes = u32_at(bytes + 12);
  const uint64_t tail_bytes = u32_at(bytes + 16);
  num_rows_ = u32_at(bytes + 20);
  num_components_ = bytes[24];
  if ((num_components_ != 1 && num_components_ != 3) || bytes[25] != 0 || bytes[26] != 0 ||
      bytes[27] != 0) {
    throw_broken_dct("its header has wrong values");
  }
  const uint64_t rows_at = kHeaderBytes + kCodeBytes * num_components_ + head_bytes + tail_bytes +
                           uint64_t{4} * num_rows_;
  if (num_rows_ == 0 || rows_at + kSlackBytes > dct.size()) {
    throw_broken_dct("the sizes in its header are wrong");
  }
  size_t at = kHeaderBytes;
  for (size_t c = 0; c < num_components_; ++c) {
    for (size_t i = 0; i < codes_[c].widths.size(); ++i) {
      const int width = i % 2 == 0 ? bytes[at + i / 2] & 15 : bytes[at + i / 2] >> 4;
      if (width < 1 || width > 8) throw_broken_dct("a code width is not between 1 and 8");
      codes_[c].widths[i] = static_cast<uint8_t>(width);
    }
    std::memcpy(codes_[c].common_flags.data(), bytes + at + 16, codes_[c].common_flags.size());
    at += kCodeBytes;
  }
  head_ = dct.subspan(at, head_bytes);
  tail_ = dct.subspan(at + head_bytes, tail_bytes);
  rows_ = bytes + rows_at;
  index_ = rows_ - 4 * num_rows_;
  uint32_t begin = 0;
  for (size_t i = 0; i < num_rows_; ++i) {
    const uint32_t end = u32_at(index_ + 4 * i);
    if (end < begin) throw_broken_dct("its index does not ascend");
    begin = end;
  }
  if (rows_at + begin + kSlackBytes != dct.size()) {
    throw_broken_dct("its rows end at the wrong byte");
  }
}

std::span<const uint8_t> DctFile::row(size_t i) const {
  const uint32_t begin = i == 0 ? 0 : u32_at(index_ + 4 * (i - 1));
  return {rows_ + begin, u32_at(index_ + 4 * i) - begin};
}

namespace {

constexpr size_t kEscapeBytes = 3;
constexpr size_t kNoEscape = std::numeric_limits<size_t>::max();

uint64_t load_u64(const uint8_t* bytes) {
  uint64_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

size_t width_of_group(const uint8_t* widths, size_t group) {
  return widths[group / 2] >> (4 * (group % 2)) & 15U;
}

}  // namespace

void DctRowReader::begin(const DctGeometry& geometry, const DctComponentCodes& codes) {
  geometry_ = geometry;
  for (size_t block = 0; block < geometry.blocks_in_mcu; ++block) {
    const auto& [widths, common] = codes[geometry.component_of_block[block]];
    common_flags_[block] =
        uint32_t{common[0]} | uint32_t{common[1]} << 8 | uint32_t{common[2]} << 16;
    for (size_t i = 0; i < 32; ++i) {
      widths_[64 * block + DctTables::place(i / 4) + i % 4] = widths[i];
    }
  }
  dc_.resize(geometry.blocks_per_row());
  flags_.resize(geometry.blocks_per_row());
  unpack_ = unpack_dct_tiles();
}

bool DctRowReader::open(std::span<const uint8_t> row, bool dc_alone) {
  std::span<const uint8_t> rest = row;
  for (size_t c = 0; c < geometry_.num_components; ++c) {
    if (!open_dc(rest, c)) return false;
  }
  block_ = 0;
  if (dc_alone) return true;
  if (rest.size() < 4) return false;
  const size_t num_escapes = load_u64(rest.data()) & 0xFFFFFFFF;
  rest = rest.subspan(4);
  if (!open_flags(rest)) return false;
  const size_t num_tiles = count_dct_bits(flags_.data(), flags_.size());
  const size_t num_classes = (num_tiles + 3) / 4;
  if (rest.size() < num_tiles + num_classes ||
      (rest.size() - num_tiles - num_classes) / kEscapeBytes < num_escapes) {
    return false;
  }
  if (num_tiles > 0 && std::memchr(rest.data(), 0, num_tiles) != nullptr) return false;
  tiles_ = {.masks = rest.data(), .classes = rest.data() + num_tiles};
  rest = rest.subspan(num_tiles + num_classes);
  escape_ = rest.data();
  escapes_left_ = num_escapes;
  escape_block_ = 0;
  rest = rest.subspan(kEscapeBytes * num_escapes);
  tiles_.values = rest.data();
  tiles_.num_bits = 8 * rest.size();
  return next_escape();
}

// Reads the DC coefficients of a component, and takes them from `rest`.
bool DctRowReader::open_dc(std::span<const uint8_t>& rest, size_t component) {
  const size_t in_mcu = geometry_.num_blocks[component];
  const size_t num_differences = in_mcu * geometry_.mcus_per_row - 1;
  const size_t num_groups = (num_differences + 7) / 8;
  const size_t num_width_bytes = (num_groups + 1) / 2;
  if (rest.size() < 2 + num_width_bytes) return false;
  int16_t first;
  std::memcpy(&first, rest.data(), sizeof(first));
  const uint8_t* const widths = rest.data() + 2;
  rest = rest.subspan(2 + num_width_bytes);
  size_t num_bits = 0;
  for (size_t group = 0; group < num_groups; ++group) {
    num_bits += width_of_group(widths, group) * std::min<size_t>(8, num_differences - 8 * group);
  }
  if (rest.size() < (num_bits + 7) / 8) return false;

  int16_t* out = dc_.data() + geometry_.first_block[component];
  const size_t step = geometry_.blocks_in_mcu - in_mcu;  // from the last block of an MCU
  size_t in_this = in_mcu;
  int value = first;
  unsigned out_of_range = 0;
  const auto put = [&] {
    out_of_range |= static_cast<unsigned>(value + kMaxDctDc + 1);
    *out++ = static_cast<int16_t>(value);
    if (--in_this == 0) {
      in_this = in_mcu;
      out += step;
    }
  };
  put();
  size_t bit = 0;
  for (size_t group = 0; group < num_groups; ++group) {
    const size_t width = width_of_group(widths, group);
    const auto sign = static_cast<int>((1U << width) >> 1);
    const uint64_t mask = (uint64_t{1} << width) - 1;
    const size_t count = std::min<size_t>(8, num_differences - 8 * group);
    for (size_t i = 0; i < count; ++i, bit += width) {
      const auto bits = static_cast<int>(load_u64(rest.data() + bit / 8) >> (bit % 8) & mask);
      value += (bits ^ sign) - sign;
      put();
    }
  }
  rest = rest.subspan((num_bits + 7) / 8);
  return (out_of_range & ~(2U * kMaxDctDc + 1)) == 0;
}

// Reads the flags of all blocks, and takes them from `rest`.
bool DctRowReader::open_flags(std::span<const uint8_t>& rest) {
  const size_t num_blocks = flags_.size();
  const size_t num_bytes = (num_blocks + 3) / 4;
  const uint8_t* const codes = rest.data();
  if (rest.size() < num_bytes) return false;
  rest = rest.subspan(num_bytes);
  // Of a code of 3 both bits are set. Behind the last code there is none.
  size_t num_others = 0;
  const auto others_in = [](unsigned four) {
    return size_t{kDctTables.num_bits[four & four >> 1 & 0x55]};
  };
  for (size_t i = 0; i + 1 < num_bytes; ++i) num_others += others_in(codes[i]);
  num_others += others_in(codes[num_bytes - 1] & 0xFFU >> (8 * num_bytes - 2 * num_blocks));
  if (rest.size() < num_others) return false;
  // The common ones and the next other one side by side, of which one is taken: no branch. Copies,
  // since what is written might be the members.
  const uint8_t* other = rest.data();
  const auto common = common_flags_;
  const size_t in_mcu = geometry_.blocks_in_mcu;
  uint8_t* const out = flags_.data();
  for (size_t block = 0; block < num_blocks; block += in_mcu) {
    for (size_t i = 0; i < in_mcu; ++i) {
      const unsigned code = codes[(block + i) / 4] >> (2 * ((block + i) % 4)) & 3U;
      out[block + i] = static_cast<uint8_t>((common[i] | uint32_t{*other} << 24) >> (8 * code));
      other += (code + 1) / 4;
    }
  }
  rest = rest.subspan(num_others);
  return true;
}

bool DctRowReader::next_escape() {
  while (escapes_left_ > 0) {
    --escapes_left_;
    escape_bits_ = uint32_t{escape_[0]} | uint32_t{escape_[1]} << 8 | uint32_t{escape_[2]} << 16;
    escape_ += kEscapeBytes;
    const uint32_t step = escape_bits_ & 63;
    escape_block_ += step;
    if (step == 63) {
      if (escape_bits_ != 63) return false;
      continue;
    }
    const bool has_place = (escape_bits_ >> 6 & 63) != 0;
    const bool has_value = escape_bits_ >> 12 != 0;
    return has_place && has_value && escape_block_ < geometry_.blocks_per_row();
  }
  escape_block_ = kNoEscape;
  return true;
}

// Those of the next MCU.
bool DctRowReader::read_escapes(int16_t* blocks, uint64_t* escaped) {
  while (escape_block_ < block_ + geometry_.blocks_in_mcu) {
    const int value = static_cast<int>(escape_bits_ << 8) >> 20;
    const size_t block = escape_block_ - block_;
    const uint32_t place = escape_bits_ >> 6 & 63;
    blocks[64 * block + place] = static_cast<int16_t>(value);
    if (escaped != nullptr) escaped[block] |= uint64_t{1} << place;
    if (!next_escape()) return false;
  }
  return true;
}

bool DctRowReader::read_mcu(int16_t* blocks, uint64_t* escaped) {
  if (!unpack_(tiles_, flags_.data() + block_, widths_.data(), geometry_.blocks_in_mcu, blocks)) {
    return false;
  }
  if (!read_escapes(blocks, escaped)) return false;
  read_dc(blocks);
  return true;
}

void DctRowReader::read_dc(int16_t* blocks) {
  for (size_t i = 0; i < geometry_.blocks_in_mcu; ++i) blocks[64 * i] = dc_[block_ + i];
  block_ += geometry_.blocks_in_mcu;
}

bool DctRowReader::skip_mcus(size_t count) {
  const size_t end = block_ + count * geometry_.blocks_in_mcu;
  for (size_t in_mcu = 0; block_ < end; ++block_) {
    const uint8_t* const widths = widths_.data() + 64 * in_mcu;
    uint64_t quarters = kDctTables.quarters[flags_[block_]];
    for (size_t left = kDctTables.num_bits[flags_[block_]]; left > 0; --left, quarters >>= 8) {
      const size_t kind = tiles_.classes[tiles_.tile / 4] >> (2 * (tiles_.tile % 4)) & 3;
      tiles_.bit += size_t{kDctTables.num_bits[tiles_.masks[tiles_.tile]]} *
                    widths[4 * (quarters & 0xFF) + kind];
      ++tiles_.tile;
    }
    if (++in_mcu == geometry_.blocks_in_mcu) in_mcu = 0;
  }
  while (escape_block_ < end) {
    if (!next_escape()) return false;
  }
  return tiles_.bit <= tiles_.num_bits;
}

bool DctRowReader::is_at_end() const {
  return escape_block_ == kNoEscape && (tiles_.bit + 7) / 8 == tiles_.num_bits / 8;
}

}  // namespace ffkit
