#include "bitmaps/pnm_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/make_error.h"
#include "bitmaps/pnm_header.h"

namespace ffkit {
namespace {

// What each stored value becomes: value / largest * full, rounded as Python's round() in Pillow's
// PpmImagePlugin, halves to even.
template <typename Value>
std::vector<Value> scale_table(const PnmHeader& header) {
  if (header.is_bitmap) return {static_cast<Value>(~0U), 0};
  const bool takes_high_byte =
      sizeof(Value) == 1 && header.info.has_16_bits && header.info.num_components == 1;
  const double full = takes_high_byte ? 65535 : static_cast<Value>(~0U);
  std::vector<Value> table(static_cast<size_t>(header.max_value) + 1);
  for (size_t i = 0; i < table.size(); ++i) {
    const auto scaled =
        static_cast<unsigned>(std::nearbyint(static_cast<double>(i) / header.max_value * full));
    table[i] = static_cast<Value>(takes_high_byte ? scaled >> 8 : scaled);
  }
  return table;
}

// The stored value `i` of a row of a binary one.
size_t stored_value(const PnmHeader& header, const std::byte* row, size_t i) {
  const auto byte = [row](size_t k) { return std::to_integer<size_t>(row[k]); };
  if (header.is_bitmap) return byte(i / 8) >> (7 - i % 8) & 1;
  return header.info.has_16_bits ? byte(2 * i) << 8 | byte(2 * i + 1) : byte(i);
}

template <typename Value>
void decode_binary(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                   Value* out) {
  const std::vector<Value> table = scale_table<Value>(header);
  const auto components = static_cast<size_t>(header.info.num_components);
  for (int y = 0; y < region.height; ++y) {
    const std::byte* row =
        data.data() + header.num_bytes + static_cast<size_t>(region.y + y) * header.row_bytes;
    for (size_t x = 0; x < static_cast<size_t>(region.width); ++x, out += 3) {
      for (size_t c = 0; c < 3; ++c) {
        const size_t i = (static_cast<size_t>(region.x) + x) * components + c % components;
        out[c] = table[std::min(stored_value(header, row, i), table.size() - 1)];
      }
    }
  }
}

size_t next_value(PnmText& text, const PnmHeader& header, int64_t pixel) {
  const int64_t value = header.is_bitmap ? text.character() - '0' : text.number();
  if (value < 0 && text.is_at_end()) {
    throw error_of(ErrorCode::corrupt,
                   "truncated PPM: it ends before pixel {} of {}; get the file again", pixel,
                   int64_t{header.info.width} * header.info.height);
  }
  if (value < 0 || value > header.max_value) {
    throw error_of(ErrorCode::corrupt,
                   "broken PPM: pixel {} of {} is no number up to {}; get the file again", pixel,
                   int64_t{header.info.width} * header.info.height, header.max_value);
  }
  return static_cast<size_t>(value);
}

// All numbers are read, so that whether a picture is broken does not depend on the region.
template <typename Value>
void decode_text(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                 Value* out) {
  const std::vector<Value> table = scale_table<Value>(header);
  const ImageInfo& info = header.info;
  PnmText text(data, header.num_bytes);
  for (int y = 0; y < info.height; ++y) {
    for (int x = 0; x < info.width; ++x) {
      const int64_t pixel = int64_t{y} * info.width + x;
      std::array<Value, 3> rgb;
      rgb.fill(table[next_value(text, header, pixel)]);
      if (info.num_components == 3) {
        rgb[1] = table[next_value(text, header, pixel)];
        rgb[2] = table[next_value(text, header, pixel)];
      }
      if (x >= region.x && x < region.x + region.width && y >= region.y &&
          y < region.y + region.height) {
        out = std::ranges::copy(rgb, out).out;
      }
    }
  }
}

template <typename Value>
void decode_values(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                   Value* out) {
  if (header.is_text) {
    decode_text(data, header, region, out);
  } else {
    decode_binary(data, header, region, out);
  }
}

// What encode_ppm() writes, and PGMs of bytes: copied.
void copy_bytes(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                uint8_t* out) {
  const auto components = static_cast<size_t>(header.info.num_components);
  const auto width = static_cast<size_t>(region.width);
  const auto height = static_cast<size_t>(region.height);
  const auto* in = reinterpret_cast<const uint8_t*>(data.data()) + header.num_bytes +
                   static_cast<size_t>(region.y) * header.row_bytes +
                   static_cast<size_t>(region.x) * components;
  const size_t out_stride = 3 * width;
  if (components == 3 && header.row_bytes == out_stride) {
    std::memcpy(out, in, out_stride * height);
    return;
  }
  for (size_t y = 0; y < height; ++y, in += header.row_bytes, out += out_stride) {
    if (components == 3) {
      std::memcpy(out, in, out_stride);
      continue;
    }
    for (size_t x = 0; x < width; ++x) std::fill_n(out + 3 * x, 3, in[x]);
  }
}

}  // namespace

void decode_pnm(std::span<const std::byte> data, const Rect& region, uint8_t* out) {
  const PnmHeader header = read_pnm_header(data);
  if (header.max_value == 255 && !header.is_text) {
    copy_bytes(data, header, region, out);
  } else {
    decode_values(data, header, region, out);
  }
}

void decode_wide_pnm(std::span<const std::byte> data, const Rect& region, uint16_t* out) {
  decode_values(data, read_pnm_header(data), region, out);
}

}  // namespace ffkit
