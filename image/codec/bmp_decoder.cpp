#include "codec/bmp_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include <ffkit/format/error.h>

#include "format/little_endian.h"

namespace ffkit {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr size_t kInfoHeaderBytes = 40;
constexpr uint32_t kUncompressed = 0;  // BI_RGB
constexpr uint32_t kBitFields = 3;     // BI_BITFIELDS: masks say where the colours are

[[noreturn]] void throw_corrupt_bmp(const std::string& what) {
  throw Error(ErrorCode::corrupt, fmt::format("broken BMP: {}; get the file again", what));
}

[[noreturn]] void throw_unsupported_bmp(const std::string& what) {
  throw Error(ErrorCode::unsupported,
              fmt::format("this kind of BMP is not handled ({}); convert it to a PNG", what));
}

struct BmpHeader {
  int width = 0;
  int height = 0;
  bool is_top_down = false;
  int bits = 0;                              // of a pixel: 1, 4, 8, 24 or 32
  std::array<size_t, 3> places = {2, 1, 0};  // of red, green and blue in a pixel of 24 or 32 bits
  size_t stride = 0;
  size_t palette_begin = 0;
  size_t num_colors = 0;
  size_t pixels_begin = 0;
};

// The byte that `mask` covers all of.
size_t byte_of(uint32_t mask) {
  for (size_t byte = 0; byte < 4; ++byte) {
    if (mask == 0xFFU << (8 * byte)) return byte;
  }
  throw_unsupported_bmp(fmt::format("colour mask {:08x}", mask));
}

void read_kind(std::span<const std::byte> data, size_t header_bytes, BmpHeader& header) {
  const auto u32 = [&](size_t offset) { return load_le<uint32_t>(data.data() + offset); };
  const uint32_t compression = u32(30);
  header.bits = load_le<uint16_t>(data.data() + 28);
  header.palette_begin = kFileHeaderBytes + header_bytes;
  if (compression == kBitFields && header.bits == 32) {
    constexpr size_t kMasks =
        kFileHeaderBytes + kInfoHeaderBytes;  // behind the header, or a part of it
    if (data.size() < kMasks + 12) throw_corrupt_bmp("its header ends too early");
    for (size_t i = 0; i < 3; ++i) header.places[i] = byte_of(u32(kMasks + 4 * i));
  } else if (compression != kUncompressed) {
    throw_unsupported_bmp(fmt::format("compression {}, {} bits a pixel", compression, header.bits));
  }
  if (header.bits != 1 && header.bits != 4 && header.bits != 8 && header.bits != 24 &&
      header.bits != 32) {
    throw_unsupported_bmp(fmt::format("{} bits a pixel", header.bits));
  }
  if (header.bits <= 8) {
    const uint32_t num_used = u32(46);
    header.num_colors = num_used == 0 ? size_t{1} << header.bits : num_used;
    if (header.num_colors > size_t{1} << header.bits ||
        header.palette_begin + 4 * header.num_colors > data.size()) {
      throw_corrupt_bmp(fmt::format("a palette of {} colours for {} bits a pixel in {} bytes",
                                    header.num_colors, header.bits, data.size()));
    }
  }
}

BmpHeader read_bmp_header(std::span<const std::byte> data) {
  if (data.size() < kFileHeaderBytes + kInfoHeaderBytes)
    throw_corrupt_bmp("its header ends too early");
  const auto u32 = [&](size_t offset) { return load_le<uint32_t>(data.data() + offset); };
  const size_t header_bytes = u32(14);
  if (header_bytes < kInfoHeaderBytes) {
    throw_unsupported_bmp(fmt::format("header of {} bytes, older than Windows 3", header_bytes));
  }
  if (header_bytes > data.size() - kFileHeaderBytes) throw_corrupt_bmp("its header ends too early");
  BmpHeader header;
  const auto width = load_le<int32_t>(data.data() + 18);
  const auto height = load_le<int32_t>(data.data() + 22);
  if (width < 1 || height == 0 || height == INT32_MIN) {
    throw_corrupt_bmp(fmt::format("its header claims {} x {} pixels", width, height));
  }
  header.width = width;
  header.height = std::abs(height);
  header.is_top_down = height < 0;
  read_kind(data, header_bytes, header);
  header.pixels_begin = u32(10);
  const size_t row_bits = static_cast<size_t>(header.width) * static_cast<size_t>(header.bits);
  header.stride = (row_bits + 31) / 32 * 4;
  const size_t available = data.size() - std::min<size_t>(data.size(), header.pixels_begin);
  if (header.pixels_begin < header.palette_begin + 4 * header.num_colors ||
      available / header.stride < static_cast<size_t>(header.height)) {
    throw Error(
        ErrorCode::corrupt,
        fmt::format(
            "truncated BMP: {} bytes from its pixels' place on are too few for {} x {} of {} "
            "bits; get the file again",
            available, header.width, header.height, header.bits));
  }
  return header;
}

using Palette = std::array<std::array<uint8_t, 3>, 256>;

// Colours that the file does not give are black.
Palette read_palette(const uint8_t* bytes, size_t num_colors) {
  Palette palette = {};
  for (size_t i = 0; i < num_colors; ++i, bytes += 4) palette[i] = {bytes[2], bytes[1], bytes[0]};
  return palette;
}

// Pixels x .. x + width - 1 of a row whose pixels are numbers of colours.
void decode_indices(const uint8_t* row, int bits, int x, int width, const Palette& palette,
                    uint8_t* out) {
  const int per_byte = 8 / bits;
  const int mask = (1 << bits) - 1;
  for (int i = x; i < x + width; ++i, out += 3) {
    const int shift = 8 - bits * (1 + i % per_byte);  // the first pixel is the highest bits
    std::ranges::copy(palette[static_cast<size_t>(row[i / per_byte] >> shift & mask)], out);
  }
}

}  // namespace

ImageInfo read_bmp_info(std::span<const std::byte> data) {
  const BmpHeader header = read_bmp_header(data);
  const int num_components = header.bits <= 8 ? 1 : header.bits / 8;
  return {ImageEncoding::bmp, header.width, header.height, num_components};
}

RgbView BmpDecoder::decode(std::span<const std::byte> data, const Rect& region) {
  const BmpHeader header = read_bmp_header(data);
  const auto* bytes = reinterpret_cast<const uint8_t*>(data.data());
  const Palette palette = read_palette(bytes + header.palette_begin, header.num_colors);
  const auto stride = ptrdiff_t{3} * region.width;
  uint8_t* const pixels =
      pixels_.reserve(static_cast<size_t>(stride) * static_cast<size_t>(region.height));
  const auto pixel_bytes = static_cast<size_t>(header.bits / 8);
  for (int y = 0; y < region.height; ++y) {
    const int stored_y = header.is_top_down ? region.y + y : header.height - 1 - region.y - y;
    const uint8_t* row =
        bytes + header.pixels_begin + static_cast<size_t>(stored_y) * header.stride;
    uint8_t* out = pixels + y * stride;
    if (header.bits <= 8) {
      decode_indices(row, header.bits, region.x, region.width, palette, out);
      continue;
    }
    row += static_cast<size_t>(region.x) * pixel_bytes;
    for (int x = 0; x < region.width; ++x, row += pixel_bytes, out += 3) {
      for (size_t c = 0; c < 3; ++c) out[c] = row[header.places[c]];
    }
  }
  return {pixels, region.width, region.height, stride};
}

}  // namespace ffkit
