#include "dct/jpeg_head.h"

#include <algorithm>

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

}  // namespace ffkit
