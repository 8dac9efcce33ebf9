// BMP. A file header of 14 bytes, a header whose size tells its version (12 and 64 bytes are
// OS/2's), masks of colours, a palette, rows of a multiple of 4 bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "bitmaps/bitmaps.h"

namespace ffkit {
namespace {

struct BmpHeader {
  int width = 0;
  int height = 0;
  bool is_top_down = false;
  int bits = 0;                              // of a pixel: 1, 4, 8, 16, 24 or 32
  bool is_run_length = false;                // RLE8 or RLE4, by the bits
  bool has_6_bits_of_green = false;          // of 16: 5, 6 and 5, not 5 of each
  std::array<size_t, 3> places = {2, 1, 0};  // of red, green and blue in a pixel of 24 or 32 bits
  size_t stride = 0;
  size_t palette_begin = 0;
  size_t color_bytes = 4;  // of a colour in the palette
  size_t num_colors = 0;   // that the file gives; pixels may have higher numbers
  size_t pixels_begin = 0;
};

constexpr size_t kFileHeaderBytes = 14;
constexpr size_t kCoreHeaderBytes = 12;  // of OS/2 1 and Windows 2: sizes of 16 bits
constexpr size_t kInfoHeaderBytes = 40;  // of Windows 3; all longer ones begin with it
// Behind it, or a part of a longer one.
constexpr size_t kMasks = kFileHeaderBytes + kInfoHeaderBytes;
constexpr size_t kMaxColors = 65536;  // Pillow's limit for what a header claims

enum Compression : uint32_t { kUncompressed = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3 };

[[noreturn]] void throw_unsupported_bmp(const std::string& what) {
  throw error_of(ErrorCode::unsupported,
                 "ffkit does not support this kind of BMP ({}); convert the picture to PNG", what);
}

[[noreturn]] void throw_corrupt_bmp(const std::string& what) {
  throw error_of(ErrorCode::corrupt, "broken BMP: {}; get the file again", what);
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

// Microsoft's "Bitmap storage". Programs write the place of the pixels, the size of the palette and
// the end of the last row in wrong ways that everybody reads. Where they are wrong, they are taken
// as Pillow takes them.
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
          fmt::format("compression {}, {} bits per pixel", compression, header_.bits));
    }
    set_colors(u32(46));
  }

  void set_size(int32_t width, int32_t height, bool may_be_top_down) {
    if (width < 1 || height == 0 || height == INT32_MIN) {
      throw_corrupt_bmp(
          fmt::format("its header says {} x {} pixels, which is not possible", width, height));
    }
    header_.width = width;
    header_.height = std::abs(height);
    header_.is_top_down = may_be_top_down && height < 0;
  }

  void set_bits(int bits) {
    constexpr std::array kBits = {1, 4, 8, 16, 24, 32};
    if (std::ranges::find(kBits, bits) == kBits.end()) {
      throw_unsupported_bmp(fmt::format("{} bits per pixel", bits));
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
        throw_unsupported_bmp(fmt::format("16 bits per pixel, colour masks {:04x}, {:04x}, {:04x}",
                                          masks[0], masks[1], masks[2]));
      }
      return;
    }
    if (masks == std::array<uint32_t, 3>{}) return;  // blue, green, red as without masks
    for (size_t i = 0; i < 3; ++i) {
      header_.places[i] = byte_of(masks[i]);
      if (header_.bits == 24 && header_.places[i] == 3) {
        throw_unsupported_bmp(fmt::format("24 bits per pixel, colour mask {:08x}", masks[i]));
      }
    }
  }

  // `claimed`: 0 stands for all that the pixels' bits can name. A palette may be shorter, also than
  // claimed; what stands there then belongs to the pixels.
  void set_colors(size_t claimed) {
    if (header_.bits > 8) return;
    if (claimed == 0) claimed = size_t{1} << header_.bits;
    if (claimed > kMaxColors) {
      throw_corrupt_bmp(fmt::format("its palette of {} colours is too large for {} bits per pixel",
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
      throw_corrupt_bmp(fmt::format("its pixels begin at byte {}, but its header has {} bytes",
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
                   "truncated BMP: {} x {} pixels of {} bits need {} bytes, but the file has {} "
                   "bytes from the begin of the pixels (byte {}) on; get the file again",
                   header_.width, header_.height, header_.bits, needed, available,
                   header_.pixels_begin);
  }

  std::span<const std::byte> data_;
  BmpHeader header_;
  size_t palette_bytes_ = 0;  // claimed
};

// Microsoft's "Bitmap compression", RLE8 and RLE4: the number of each pixel's colour, rows as they
// are stored. Pixels that the runs leave out keep their numbers.
class BmpRunReader {
 public:
  BmpRunReader(std::span<const std::byte> data, const BmpHeader& header, uint8_t* numbers)
      : data_(data),
        at_(header.pixels_begin),
        width_(header.width),
        height_(header.height),
        is_rle4_(header.bits == 4),
        numbers_(numbers) {}

  void read() {
    // The last row needs no end.
    while (y_ < height_ && (y_ + 1 < height_ || x_ < width_)) {
      const size_t count = next();
      const size_t value = next();
      if (count > 0) {
        repeat(count, static_cast<uint8_t>(value));
      } else if (value == 0) {
        x_ = 0;
        ++y_;
      } else if (value == 1) {
        return;
      } else if (value == 2) {
        x_ = std::min(width_, x_ + next());
        y_ += next();
      } else {
        copy(value);
      }
    }
  }

 private:
  size_t next() {
    if (at_ >= data_.size()) {
      throw error_of(
          ErrorCode::corrupt,
          "truncated BMP: the file ends inside the code of row {} of {}; get the file again",
          y_ + 1, height_);
    }
    return std::to_integer<size_t>(data_[at_++]);
  }

  uint8_t* here() { return numbers_ + y_ * width_ + x_; }

  // What goes past the row's end is left out, as everybody does it.
  void repeat(size_t count, uint8_t value) {
    count = std::min(count, width_ - x_);
    uint8_t* const out = here();
    if (is_rle4_) {
      for (size_t i = 0; i < count; ++i) out[i] = i % 2 == 0 ? value >> 4 : value & 15;
    } else {
      std::fill_n(out, count, value);
    }
    x_ += count;
  }

  void copy(size_t count) {
    if (count > width_ - x_) {
      throw_corrupt_bmp(fmt::format("{} pixels lie beyond the end of row {} of {}",
                                    count - (width_ - x_), y_ + 1, height_));
    }
    uint8_t* const out = here();
    size_t byte = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!is_rle4_ || i % 2 == 0) byte = next();
      out[i] = static_cast<uint8_t>(!is_rle4_ ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
    }
    x_ += count;
    at_ += at_ % 2;  // of the file: pixels begin at an even place
  }

  std::span<const std::byte> data_;
  size_t at_;
  size_t x_ = 0;
  size_t y_ = 0;
  size_t width_;
  size_t height_;
  bool is_rle4_;
  uint8_t* numbers_;
};

using BmpPalette = std::array<std::array<uint8_t, 3>, 256>;

// Colours that the file does not give are black.
BmpPalette read_palette(const uint8_t* bytes, const BmpHeader& header) {
  BmpPalette palette = {};
  for (size_t i = 0; i < header.num_colors; ++i, bytes += header.color_bytes) {
    palette[i] = {bytes[2], bytes[1], bytes[0]};
  }
  return palette;
}

// Pixels x .. x + width - 1 of a row whose pixels are numbers of colours.
void decode_numbers(const uint8_t* row, int bits, int x, int width, const BmpPalette& palette,
                    uint8_t* out) {
  const int per_byte = 8 / bits;
  const int mask = (1 << bits) - 1;
  for (int i = x; i < x + width; ++i, out += 3) {
    const int shift = 8 - bits * (1 + i % per_byte);  // the first pixel is the highest bits
    std::ranges::copy(palette[row[i / per_byte] >> shift & mask], out);
  }
}

// As Pillow widens 5 and 6 bits: rounded down.
void decode_16_bits(const uint8_t* row, int width, bool has_6_bits_of_green, uint8_t* out) {
  const int green_bits = has_6_bits_of_green ? 6 : 5;
  const int max_green = (1 << green_bits) - 1;
  for (int i = 0; i < width; ++i, row += 2, out += 3) {
    const int pixel = row[0] | row[1] << 8;
    out[0] = static_cast<uint8_t>((pixel >> (5 + green_bits) & 31) * 255 / 31);
    out[1] = static_cast<uint8_t>((pixel >> 5 & max_green) * 255 / max_green);
    out[2] = static_cast<uint8_t>((pixel & 31) * 255 / 31);
  }
}

void decode_bytes(const uint8_t* row, const BmpHeader& header, int width, uint8_t* out) {
  const auto pixel_bytes = static_cast<size_t>(header.bits / 8);
  for (int i = 0; i < width; ++i, row += pixel_bytes, out += 3) {
    for (size_t c = 0; c < 3; ++c) out[c] = row[header.places[c]];
  }
}

}  // namespace

bool is_bmp(std::span<const std::byte> data) {
  if (data.size() < 2 || data[0] != std::byte{'B'} || data[1] != std::byte{'M'}) return false;
  // A header of another size than all is named; a text's letters would be a size of millions.
  return data.size() < kFileHeaderBytes + 4 ||
         load_le<uint32_t>(data.data() + kFileHeaderBytes) < 4096;
}

ImageInfo read_bmp_info(std::span<const std::byte> data) {
  const BmpHeader header = BmpHeaderReader(data).read();
  const int num_components = header.bits <= 8 ? 1 : std::max(3, header.bits / 8);
  return {.encoding = ImageEncoding::bmp,
          .width = header.width,
          .height = header.height,
          .num_components = num_components};
}

void decode_bmp(std::span<const std::byte> data, const Rect& region, uint8_t* out) {
  const BmpHeader header = BmpHeaderReader(data).read();
  const auto* bytes = reinterpret_cast<const uint8_t*>(data.data());
  const BmpPalette palette = read_palette(bytes + header.palette_begin, header);
  const uint8_t* rows = bytes + header.pixels_begin;
  size_t stride = header.stride;
  int bits = header.bits;
  std::vector<uint8_t> numbers;
  if (header.is_run_length) {
    numbers.resize(static_cast<size_t>(header.width) * static_cast<size_t>(header.height));
    BmpRunReader(data, header, numbers.data()).read();
    rows = numbers.data();
    stride = static_cast<size_t>(header.width);
    bits = 8;
  }
  for (int y = 0; y < region.height; ++y, out += ptrdiff_t{3} * region.width) {
    const int stored_y = header.is_top_down ? region.y + y : header.height - 1 - region.y - y;
    const uint8_t* row = rows + static_cast<size_t>(stored_y) * stride;
    if (bits <= 8) {
      decode_numbers(row, bits, region.x, region.width, palette, out);
      continue;
    }
    row += static_cast<size_t>(region.x) * static_cast<size_t>(bits / 8);
    if (bits == 16) {
      decode_16_bits(row, region.width, header.has_6_bits_of_green, out);
    } else {
      decode_bytes(row, header, region.width, out);
    }
  }
}

}  // namespace ffkit
