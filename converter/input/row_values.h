// What stands in a row, read as numbers and texts.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/format/schema.h>

#include "base/make_error.h"

namespace ffkit {

inline bool is_whole_number(const Field& field) {
  return field.type == FieldType::scalar && field.dtype != DType::f16 &&
         field.dtype != DType::bf16 && field.dtype != DType::f32 && field.dtype != DType::f64;
}

inline bool is_picture_column(const Field& field) {
  return field.type == FieldType::image ||
         (field.type == FieldType::list && field.item == FieldType::image);
}

// Of a scalar of `dtype`, whose bits stand in the low bytes.
inline int64_t whole_number(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::i8:
      return static_cast<int8_t>(bits);
    case DType::i16:
      return static_cast<int16_t>(bits);
    case DType::i32:
      return static_cast<int32_t>(bits);
    case DType::u64:
      if (bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        throw error_of(ErrorCode::unsupported, "{} does not fit in a signed 64-bit integer", bits);
      }
      return static_cast<int64_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

inline std::string_view row_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline void require_utf8(std::span<const std::byte> bytes) {
  if (!simdjson::validate_utf8(row_text(bytes))) {
    throw Error(ErrorCode::corrupt, "the value is not UTF-8 text");
  }
}

// The items of a list of texts; throws as require_utf8().
inline std::vector<std::string_view> row_texts(std::span<const std::span<const std::byte>> items) {
  std::vector<std::string_view> texts;
  texts.reserve(items.size());
  for (const std::span<const std::byte> item : items) {
    require_utf8(item);
    texts.push_back(row_text(item));
  }
  return texts;
}

}  // namespace ffkit
