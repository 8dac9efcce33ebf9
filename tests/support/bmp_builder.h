// BMPs of the kinds that are read, byte by byte as Microsoft's "Bitmap storage" has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ffkit::testing {

struct BmpKind {
  int bits = 24;  // of a pixel: 1, 4, 8, 24, 32
  bool top_down = false;
  std::vector<std::array<uint8_t, 3>> palette;  // red, green, blue
  std::vector<uint32_t> masks;                  // red, green, blue: BI_BITFIELDS
  uint32_t header_bytes = 40;  // 40, or 108 or more, where the masks are a part of the header
};

// `values`: of width * height pixels from the top left on, a colour's number or, from 24 bits on,
// as a little-endian number of the pixel's bytes.
inline std::vector<std::byte> encode_bmp_as(int width, int height,
                                            const std::vector<uint32_t>& values,
                                            const BmpKind& kind) {
  std::vector<std::byte> out;
  const auto put = [&out](uint32_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i) {
      out.push_back(i < 4 ? std::byte(value >> (8 * i) & 0xFF) : std::byte{0});
    }
  };
  const size_t stride = (size_t(width) * size_t(kind.bits) + 31) / 32 * 4;
  const size_t masks_behind = kind.header_bytes == 40 ? 4 * kind.masks.size() : 0;
  const size_t begin = 14 + kind.header_bytes + masks_behind + 4 * kind.palette.size();
  put('B' | 'M' << 8, 2);
  put(uint32_t(begin + stride * size_t(height)), 4);
  put(0, 4);
  put(uint32_t(begin), 4);
  put(kind.header_bytes, 4);
  put(uint32_t(width), 4);
  put(uint32_t(kind.top_down ? -height : height), 4);
  put(1, 2);
  put(uint32_t(kind.bits), 2);
  put(kind.masks.empty() ? 0 : 3, 4);
  put(0, 12);
  put(uint32_t(kind.palette.size()), 4);
  put(0, 4);
  for (const uint32_t mask : kind.masks) put(mask, 4);
  while (out.size() < 14 + kind.header_bytes) put(0, 1);
  for (const auto& [red, green, blue] : kind.palette) {
    put(blue, 1);
    put(green, 1);
    put(red, 2);
  }
  for (int row = 0; row < height; ++row) {
    const int y = kind.top_down ? row : height - 1 - row;
    const size_t row_begin = out.size();
    out.resize(row_begin + stride);
    for (int x = 0; x < width; ++x) {
      const uint32_t value = values[size_t(y) * size_t(width) + size_t(x)];
      if (kind.bits < 8) {
        const int bit = x * kind.bits;
        out[row_begin + size_t(bit / 8)] |= std::byte(value << (8 - kind.bits - bit % 8));
        continue;
      }
      for (int i = 0; i < kind.bits / 8; ++i) {
        out[row_begin + size_t(x * kind.bits / 8 + i)] = std::byte(value >> (8 * i) & 0xFF);
      }
    }
  }
  return out;
}

// RGB pixels as a BMP of 24 bits.
inline std::vector<std::byte> encode_bmp(int width, int height, const std::vector<uint8_t>& rgb,
                                         bool top_down = false) {
  std::vector<uint32_t> values;
  for (size_t i = 0; i < rgb.size(); i += 3) {
    values.push_back(uint32_t{rgb[i]} << 16 | uint32_t{rgb[i + 1]} << 8 | rgb[i + 2]);
  }
  return encode_bmp_as(width, height, values, {.top_down = top_down});
}

}  // namespace ffkit::testing
