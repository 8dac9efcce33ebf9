#include "bitmaps/bmp_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/little_endian.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr size_t kCoreHeaderBytes = 12;  // of OS/2 1 and Windows 2: sizes of 16 bits
constexpr size_t kInfoHeaderBytes = 40;  // of Windows 3; all longer ones begin with it
// Behind it, or a part of a longer one.
constexpr size_t kMasks = kFileHeaderBytes + kInfoHeaderBytes;
constexpr size_t kMaxColors = 65536;  // Pillow's limit for what a header claims

enum Compression : uint32_t { kUncompressed = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3 };

[[noreturn]] void throw_unsupported_bmp(const std::string& what) {
  throw error_of(ErrorCode::unsupported,
                 "this kind of BMP is not handled ({}); convert it to a PNG", what);
}

// The byte that `mask` covers all of.
size_t byte_of(uint32_t mask) {
  for (size_t byte = 0; byte < 4; ++byte) {
    if (mask == 0xFFU << (8 * byte)) return byte;
  }
  throw_unsupported_bmp(fmt::format("colour mask {:08x}", mask));
}

bool is_known(size_t header_bytes) {
  constexpr std::array<size_t, 7> kKnown = {12, 40, 52, 56, 64, 108, 124};
  return std::ranges::find(kKnown, header_bytes) != kKnown.end();
}

class BmpHeaderReader {
 public:
  explicit BmpHeaderReader(std::span<const std::byte> data) : data_(data) {}

  BmpHeader read() {
    if (data_.size() < kFileHeaderBytes + kCoreHeaderBytes)
      throw_corrupt_bmp("its header ends too early");
    const size_t header_bytes = u32(kFileHeaderBytes);
    if (!is_known(header_bytes)) {
      throw_unsupported_bmp(fmt::format("header of {} bytes", header_bytes));
    }
    if (header_bytes > data_.size() - kFileHeaderBytes)
      throw_corrupt_bmp("its header ends too early");
    header_.palette_begin = kFileHeaderBytes + header_bytes;
    if (header_bytes == kCoreHeaderBytes) {
      read_core_header();
    } else {
      read_info_header(header_bytes);
    }
    find_pixels();
    return header_;
  }

 private:
  uint32_t u32(size_t offset) const { return load_le<uint32_t>(data_.data() + offset); }
  uint16_t u16(size_t offset) const { return load_le<uint16_t>(data_.data() + offset); }

  void read_core_header() {
    header_.color_bytes = 3;
    set_size(u16(18), u16(20), false);
    set_bits(u16(24));
    set_colors(0);
  }

  void read_info_header(size_t header_bytes) {
    set_size(load_le<int32_t>(data_.data() + 18), load_le<int32_t>(data_.data() + 22), true);
    set_bits(u16(28));
    const uint32_t compression = u32(30);
    if (compression == kBitFields && header_.bits >= 16) {
      read_masks();
      if (header_bytes == kInfoHeaderBytes) header_.palette_begin += 12;
    } else if ((compression == kRle8 && header_.bits == 8) ||
               (compression == kRle4 && header_.bits == 4)) {
      header_.is_run_length = true;
    } else if (compression != kUncompressed) {
      throw_unsupported_bmp(
          fmt::format("compression {}, {} bits a pixel", compression, header_.bits));
    }
    set_colors(u32(46));
  }

  void set_size(int32_t width, int32_t height, bool may_be_top_down) {
    if (width < 1 || height == 0 || height == INT32_MIN) {
      throw_corrupt_bmp(fmt::format("its header claims {} x {} pixels", width, height));
    }
    header_.width = width;
    header_.height = std::abs(height);
    header_.is_top_down = may_be_top_down && height < 0;
  }

  void set_bits(int bits) {
    constexpr std::array kBits = {1, 4, 8, 16, 24, 32};
    if (std::ranges::find(kBits, bits) == kBits.end()) {
      throw_unsupported_bmp(fmt::format("{} bits a pixel", bits));
    }
    header_.bits = bits;
    header_.stride = (static_cast<size_t>(header_.width) * static_cast<size_t>(bits) + 31) / 32 * 4;
  }

  void read_masks() {
    if (data_.size() < kMasks + 12) throw_corrupt_bmp("its header ends too early");
    const std::array<uint32_t, 3> masks = {u32(kMasks), u32(kMasks + 4), u32(kMasks + 8)};
    if (header_.bits == 16) {
      header_.has_6_bits_of_green = masks == std::array<uint32_t, 3>{0xF800, 0x7E0, 0x1F};
      if (!header_.has_6_bits_of_green && masks != std::array<uint32_t, 3>{0x7C00, 0x3E0, 0x1F}) {
        throw_unsupported_bmp(fmt::format("16 bits a pixel, colour masks {:04x}, {:04x}, {:04x}",
                                          masks[0], masks[1], masks[2]));
      }
      return;
    }
    if (masks == std::array<uint32_t, 3>{}) return;  // blue, green, red as without masks
    for (size_t i = 0; i < 3; ++i) {
      header_.places[i] = byte_of(masks[i]);
      if (header_.bits == 24 && header_.places[i] == 3) {
        throw_unsupported_bmp(fmt::format("24 bits a pixel, colour mask {:08x}", masks[i]));
      }
    }
  }

  // `claimed`: 0 stands for all that the pixels' bits can name. A palette may be shorter, also than
  // claimed; what stands there then belongs to the pixels.
  void set_colors(size_t claimed) {
    if (header_.bits > 8) return;
    if (claimed == 0) claimed = size_t{1} << header_.bits;
    if (claimed > kMaxColors) {
      throw_corrupt_bmp(fmt::format("it claims a palette of {} colours for {} bits a pixel",
                                    claimed, header_.bits));
    }
    palette_bytes_ = header_.color_bytes * claimed;
    const size_t available = (data_.size() - header_.palette_begin) / header_.color_bytes;
    header_.num_colors = std::min({claimed, available, size_t{256}});
  }

  void find_pixels() {
    const size_t headers_end = kFileHeaderBytes + u32(kFileHeaderBytes);
    header_.pixels_begin = u32(10);
    // Behind masks and palette, where the file gives no place; behind the palette, where it gives
    // the palette's.
    if (header_.pixels_begin == 0) {
      header_.pixels_begin = header_.palette_begin + palette_bytes_;
    } else if (header_.pixels_begin == headers_end) {
      header_.pixels_begin += palette_bytes_;
    }
    if (header_.pixels_begin < headers_end) {
      throw_corrupt_bmp(fmt::format("its pixels are to begin at byte {}, within its header of {}",
                                    header_.pixels_begin, headers_end));
    }
    const size_t available = data_.size() - std::min(data_.size(), header_.pixels_begin);
    if (header_.is_run_length) {
      // Each run of at most 255 pixels takes two bytes, and a run of nothing can stand for the
      // rest.
      if (available < 2) throw_truncated(2, available);
      return;
    }
    // Nobody needs what fills up the last row.
    const size_t last_row =
        (static_cast<size_t>(header_.width) * static_cast<size_t>(header_.bits) + 7) / 8;
    const size_t needed = header_.stride * (static_cast<size_t>(header_.height) - 1) + last_row;
    if (available < needed) throw_truncated(needed, available);
  }

  [[noreturn]] void throw_truncated(size_t needed, size_t available) const {
    throw error_of(ErrorCode::corrupt,
                   "truncated BMP: {} x {} pixels of {} bits need {} bytes, and the file has {} "
                   "from their place, byte {}, on; get the file again",
                   header_.width, header_.height, header_.bits, needed, available,
                   header_.pixels_begin);
  }

  std::span<const std::byte> data_;
  BmpHeader header_;
  size_t palette_bytes_ = 0;  // claimed
};

}  // namespace

void throw_corrupt_bmp(const std::string& what) {
  throw error_of(ErrorCode::corrupt, "broken BMP: {}; get the file again", what);
}

bool is_bmp(std::span<const std::byte> data) {
  if (data.size() < 2 || data[0] != std::byte{'B'} || data[1] != std::byte{'M'}) return false;
  // A header of another size than all is named; a text's letters would be a size of millions.
  return data.size() < kFileHeaderBytes + 4 ||
         load_le<uint32_t>(data.data() + kFileHeaderBytes) < 4096;
}

BmpHeader read_bmp_header(std::span<const std::byte> data) {
  return BmpHeaderReader(data).read();
}

}  // namespace ffkit
