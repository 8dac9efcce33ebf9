#include "arrow/arrow_node.h"

#include <charconv>
#include <limits>
#include <string_view>

#include "arrow/arrow_access.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr int kMaxNodeDepth = 64;

ArrowKind kind_of(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  if (schema.dictionary != nullptr) return ArrowKind::other;
  if (format == "n") return ArrowKind::nothing;
  if (format == "b") return ArrowKind::boolean;
  if (format.size() == 1 && std::string_view("cCsSiIlL").find(format) != std::string_view::npos) {
    return ArrowKind::integer;
  }
  if (format == "f" || format == "g") return ArrowKind::real;
  if (format == "u" || format == "U" || format == "vu") return ArrowKind::text;
  if (format == "z" || format == "Z" || format == "vz" || format.starts_with("w:")) {
    return ArrowKind::bytes;
  }
  if (format == "+l" || format == "+L" || format.starts_with("+w:")) return ArrowKind::list;
  if (format == "+s") return ArrowKind::structure;
  return ArrowKind::other;
}

// Of "w:16" and "+w:4".
int64_t fixed_size(std::string_view format) {
  int64_t size = 0;
  const std::string_view digits = format.substr(format.find(':') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), size);
  return size;
}

template <typename T>
T number_at(const ArrowArray& array, int64_t index) {
  return static_cast<const T*>(array.buffers[1])[array.offset + index];
}

// NOLINTNEXTLINE(misc-no-recursion): kMaxNodeDepth deep
ArrowNode node_of(const ArrowSchema& schema, int depth) {
  if (depth > kMaxNodeDepth) {
    throw error_of(ErrorCode::unsupported, "has values that are nested more than {} deep",
                   kMaxNodeDepth);
  }
  ArrowNode node{
      .name = arrow_name(schema), .format = schema.format, .kind = kind_of(schema), .children = {}};
  node.children.reserve(static_cast<size_t>(schema.n_children));
  for (int64_t i = 0; i < schema.n_children; ++i) {
    node.children.push_back(node_of(*schema.children[i], depth + 1));
  }
  return node;
}

}  // namespace

ArrowNode arrow_node(const ArrowSchema& schema) {
  return node_of(schema, 0);
}

bool is_arrow_null(const ArrowNode& node, const ArrowArray& array, int64_t index) {
  return node.kind == ArrowKind::nothing || is_arrow_null(array, index);
}

bool arrow_boolean(const ArrowArray& array, int64_t index) {
  return arrow_bit(array.buffers[1], array.offset + index);
}

int64_t arrow_integer(const ArrowNode& node, const ArrowArray& array, int64_t index) {
  switch (node.format.front()) {
    case 'c':
      return number_at<int8_t>(array, index);
    case 'C':
      return number_at<uint8_t>(array, index);
    case 's':
      return number_at<int16_t>(array, index);
    case 'S':
      return number_at<uint16_t>(array, index);
    case 'i':
      return number_at<int32_t>(array, index);
    case 'I':
      return number_at<uint32_t>(array, index);
    case 'L': {
      const auto value = number_at<uint64_t>(array, index);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        throw error_of(ErrorCode::unsupported, "{} is more than 64 bits with a sign hold", value);
      }
      return static_cast<int64_t>(value);
    }
    default:
      return number_at<int64_t>(array, index);
  }
}

double arrow_real(const ArrowNode& node, const ArrowArray& array, int64_t index) {
  return node.format == "f" ? number_at<float>(array, index) : number_at<double>(array, index);
}

std::span<const std::byte> arrow_bytes(const ArrowNode& node, const ArrowArray& array,
                                       int64_t index) {
  const std::string_view format = node.format;
  const int64_t place = array.offset + index;
  if (format.starts_with("v")) return arrow_viewed_bytes(array, place);
  if (format.starts_with("w:")) {
    const int64_t size = fixed_size(format);
    return {static_cast<const std::byte*>(array.buffers[1]) + place * size,
            static_cast<size_t>(size)};
  }
  return arrow_bytes(array, format == "U" || format == "Z", place);
}

ArrowItems arrow_items(const ArrowNode& node, const ArrowArray& array, int64_t index) {
  const std::string_view format = node.format;
  const int64_t place = array.offset + index;
  if (format.starts_with("+w:")) {
    const int64_t size = fixed_size(format);
    return {.begin = place * size, .end = (place + 1) * size};
  }
  const bool is_wide = format == "+L";
  return {.begin = arrow_offset(array, is_wide, place),
          .end = arrow_offset(array, is_wide, place + 1)};
}

}  // namespace ffkit
