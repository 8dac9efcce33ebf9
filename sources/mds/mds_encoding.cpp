#include "mds/mds_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/make_error.h"

namespace ffkit {
namespace {

struct NumberType {
  std::string_view name;
  DType dtype;
  uint8_t number;  // in arrays that say their dtype
};
constexpr NumberType kNumberTypes[] = {
    {"uint8", DType::u8, 8},   {"int8", DType::i8, 9},      {"uint16", DType::u16, 16},
    {"int16", DType::i16, 17}, {"float16", DType::f16, 18}, {"uint32", DType::u32, 32},
    {"int32", DType::i32, 33}, {"float32", DType::f32, 34}, {"uint64", DType::u64, 64},
    {"int64", DType::i64, 65}, {"float64", DType::f64, 66},
};

std::optional<DType> dtype_called(std::string_view name) {
  const auto* const found = std::ranges::find(kNumberTypes, name, &NumberType::name);
  if (found == std::end(kNumberTypes)) return std::nullopt;
  return found->dtype;
}

MdsEncoding refused_encoding(std::string refusal) {
  return {.kind = MdsKind::refused, .field = {}, .refusal = std::move(refusal)};
}

// "3,4"; nothing for what is no shape. Sides are 1 or more.
std::optional<std::vector<int64_t>> array_shape(std::string_view text) {
  std::vector<int64_t> shape;
  while (true) {
    int64_t side = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), side);
    if (error != std::errc() || side < 1) return std::nullopt;
    shape.push_back(side);
    if (end == text.end()) return shape;
    if (*end != ',') return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.begin()) + 1);
  }
}

// `text`: what is behind "ndarray:"; nothing for what is not an array's.
std::optional<MdsEncoding> parse_array(std::string_view text) {
  MdsEncoding encoding{.kind = MdsKind::array, .field = {.type = FieldType::tensor}};
  if (text.empty()) return encoding;
  const size_t colon = text.find(':');
  encoding.dtype = dtype_called(text.substr(0, colon));
  if (!encoding.dtype) return std::nullopt;
  encoding.field.dtype = *encoding.dtype;
  if (colon == std::string_view::npos) return encoding;
  encoding.shape = array_shape(text.substr(colon + 1));
  if (!encoding.shape) return std::nullopt;
  return encoding;
}

}  // namespace

MdsEncoding parse_mds_encoding(const std::string& name) {
  const auto plain = [](FieldType type) {
    return MdsEncoding{.kind = MdsKind::plain, .field = {.type = type}};
  };
  const auto number = [](MdsKind kind, DType dtype) {
    return MdsEncoding{.kind = kind, .field = {.type = FieldType::scalar, .dtype = dtype}};
  };
  const auto pictures = [](MdsKind kind) {
    return MdsEncoding{.kind = kind, .field = {.type = FieldType::list, .item = FieldType::image}};
  };
  if (name == "bytes") return plain(FieldType::bytes);
  if (name == "str" || name == "json" || name == "str_decimal") return plain(FieldType::string);
  if (name == "jpeg" || name == "png") return plain(FieldType::image);
  if (name == "pil") return {.kind = MdsKind::pillow, .field = {.type = FieldType::image}};
  if (name == "int") return number(MdsKind::number, DType::i64);
  if (name == "str_int") return number(MdsKind::text_integer, DType::i64);
  if (name == "str_float") return number(MdsKind::text_real, DType::f64);
  if (name == "jpeg_array" || name == "jpegarray") return pictures(MdsKind::jpeg_array);
  if (name == "list[jpeg]" || name == "list[png]") return pictures(MdsKind::picture_list);
  if (name == "list[pil]") return pictures(MdsKind::pillow_list);
  if (const auto dtype = dtype_called(name)) return number(MdsKind::number, *dtype);
  if (name == "ndarray" || name.starts_with("ndarray:")) {
    const auto array = parse_array(name == "ndarray" ? "" : std::string_view(name).substr(8));
    if (array) return *array;
  }
  if (name == "pkl") {
    return refused_encoding(
        "has the encoding 'pkl': it holds pickled Python objects, which run programs when they are "
        "read");
  }
  return refused_encoding(
      fmt::format("has the encoding '{}', which is none of MosaicML Streaming's", name));
}

DType mds_array_dtype(uint8_t number) {
  const auto* const found = std::ranges::find(kNumberTypes, number, &NumberType::number);
  if (found != std::end(kNumberTypes)) return found->dtype;
  throw error_of(ErrorCode::corrupt, "is an array of the type {}, which there is not", number);
}

}  // namespace ffkit
