#include "bitmaps/bmp_decoder.h"

#include <algorithm>
#include <array>
#include <vector>

#include "bitmaps/bmp_header.h"
#include "bitmaps/bmp_run_length.h"

namespace ffkit {
namespace {

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

ImageInfo read_bmp_info(std::span<const std::byte> data) {
  const BmpHeader header = read_bmp_header(data);
  const int num_components = header.bits <= 8 ? 1 : std::max(3, header.bits / 8);
  return {.encoding = ImageEncoding::bmp,
          .width = header.width,
          .height = header.height,
          .num_components = num_components};
}

void decode_bmp(std::span<const std::byte> data, const Rect& region, uint8_t* out) {
  const BmpHeader header = read_bmp_header(data);
  const auto* bytes = reinterpret_cast<const uint8_t*>(data.data());
  const BmpPalette palette = read_palette(bytes + header.palette_begin, header);
  const uint8_t* rows = bytes + header.pixels_begin;
  size_t stride = header.stride;
  int bits = header.bits;
  std::vector<uint8_t> numbers;
  if (header.is_run_length) {
    numbers = decode_bmp_runs(data, header);
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
