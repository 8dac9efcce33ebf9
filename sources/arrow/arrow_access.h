// How Arrow's arrays lie in memory: nulls, offsets, texts. An index is one of the array's own, from
// 0: what `offset` adds is added here.
// Source: https://arrow.apache.org/docs/format/Columnar.html
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <ffkit/format/schema.h>
#include <ffkit/sources/arrow_c.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "converter/input/row_values.h"

namespace ffkit {

// Of a column or member. Throws Error(corrupt), without a path, for a name that is no UTF-8.
inline std::string arrow_name(const ArrowSchema& schema) {
  std::string name = schema.name == nullptr ? "" : schema.name;
  if (!is_utf8(name)) {
    throw error_of(ErrorCode::corrupt, "its column '{}' has a name that is not UTF-8",
                   printable(name));
  }
  return name;
}

// Of the formats "w:16" and "+w:4"; 0 where there is no number from 0 on.
inline int64_t arrow_fixed_size(std::string_view format) {
  const auto size = number_of_text<int64_t>(format.substr(format.find(':') + 1));
  return std::max<int64_t>(size.value_or(0), 0);
}

// Of the formats of single numbers; nothing for others.
inline std::optional<DType> arrow_number_type(std::string_view format) {
  struct Known {
    std::string_view format;
    DType dtype;
  };
  static constexpr Known kKnown[] = {
      {"c", DType::i8},  {"C", DType::u8},  {"s", DType::i16}, {"S", DType::u16},
      {"i", DType::i32}, {"I", DType::u32}, {"l", DType::i64}, {"L", DType::u64},
      {"e", DType::f16}, {"f", DType::f32}, {"g", DType::f64},
  };
  const auto* const found = std::ranges::find(kKnown, format, &Known::format);
  return found == std::end(kKnown) ? std::nullopt : std::optional(found->dtype);
}

// The whole number at `place`, of any width; array.offset is in `place`. Throws as whole_number().
inline int64_t arrow_whole_number(const ArrowArray& array, std::string_view format, int64_t place) {
  const DType dtype = arrow_number_type(format).value_or(DType::i64);
  const size_t width = size_of(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits,
              static_cast<const std::byte*>(array.buffers[1]) + static_cast<size_t>(place) * width,
              width);
  return whole_number(dtype, bits);
}

// Bit `index` of a bitmap.
inline bool arrow_bit(const void* bitmap, int64_t index) {
  return (static_cast<const uint8_t*>(bitmap)[index / 8] >> (index % 8) & 1) != 0;
}

inline bool is_arrow_null(const ArrowArray& array, int64_t index) {
  if (array.n_buffers == 0) return true;  // of the type null
  if (array.null_count == 0 || array.buffers[0] == nullptr) return false;
  return !arrow_bit(array.buffers[0], array.offset + index);
}

// Number `place` of the offsets of lists or texts; array.offset is in `place`.
inline int64_t arrow_offset(const ArrowArray& array, bool is_wide, int64_t place) {
  const void* offsets = array.buffers[1];
  return is_wide ? static_cast<const int64_t*>(offsets)[place]
                 : static_cast<const int32_t*>(offsets)[place];
}

// Text or bytes number `place` of an array of offsets.
inline std::span<const std::byte> arrow_bytes(const ArrowArray& array, bool is_wide,
                                              int64_t place) {
  const int64_t begin = arrow_offset(array, is_wide, place);
  const int64_t end = arrow_offset(array, is_wide, place + 1);
  return {static_cast<const std::byte*>(array.buffers[2]) + begin,
          static_cast<size_t>(end - begin)};
}

// The same of an array of views: up to 12 bytes stand in the view itself, others in a buffer.
inline std::span<const std::byte> arrow_viewed_bytes(const ArrowArray& array, int64_t place) {
  constexpr size_t kViewBytes = 16;
  constexpr int32_t kInline = 12;
  const std::byte* view =
      static_cast<const std::byte*>(array.buffers[1]) + static_cast<size_t>(place) * kViewBytes;
  std::array<int32_t, 4> words{};
  std::memcpy(words.data(), view, kViewBytes);
  const auto length = static_cast<size_t>(words[0]);
  if (words[0] <= kInline) return {view + sizeof(int32_t), length};
  const void* buffer = array.buffers[2 + words[2]];
  return {static_cast<const std::byte*>(buffer) + words[3], length};
}

}  // namespace ffkit
