#include "litdata/arrow_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "arrow/arrow_access.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "converter/input/sample_arrays.h"
#include "rows/stored_values.h"

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

constexpr std::string_view kArrowMagic("LDARW01\0", 8);

class LeafFinder {
 public:
  explicit LeafFinder(const std::vector<std::string>& leaves) : leaves_(leaves) {}

  std::vector<TableLeaf> find(const ArrowNode& root) {
    add_members(root, "");
    return std::move(found_);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as arrow_node() lets types be
  void add_members(const ArrowNode& node, const std::string& prefix) {
    for (size_t i = 0; i < node.children.size(); ++i) {
      const ArrowNode& child = node.children[i];
      const std::string name = prefix.empty() ? child.name : prefix + "/" + child.name;
      steps_.push_back(i);
      if (child.kind == ArrowKind::structure && std::ranges::find(leaves_, name) == leaves_.end()) {
        add_members(child, name);
      } else {
        add(name, child);
      }
      steps_.pop_back();
    }
  }

  void add(const std::string& name, const ArrowNode& node) {
    if (std::ranges::find(found_, name, &TableLeaf::name) != found_.end()) {
      throw error_of(ErrorCode::unsupported,
                     "has two values that would both be called '{}'; write the samples with other "
                     "keys",
                     name);
    }
    found_.push_back({name, steps_, &node});
  }

  const std::vector<std::string>& leaves_;
  std::vector<size_t> steps_;
  std::vector<TableLeaf> found_;
};

std::string values_of(const ArrowNode& node) {
  constexpr EnumName<ArrowKind> kWords[] = {{ArrowKind::boolean, "true and false"},
                                            {ArrowKind::integer, "whole numbers"},
                                            {ArrowKind::real, "real numbers"},
                                            {ArrowKind::text, "texts"},
                                            {ArrowKind::bytes, "bytes"},
                                            {ArrowKind::list, "lists or dictionaries"},
                                            {ArrowKind::structure, "lists or dictionaries"}};
  const std::string_view name = name_of(kWords, node.kind);
  if (name != "unknown") return std::string(name);
  return fmt::format("the Arrow type '{}', which no field can hold", printable(node.format));
}

// Writes values as JSON, as those of the format "json" are written.
class TableJson {
 public:
  explicit TableJson(int64_t max_bytes) : max_bytes_(max_bytes) {}

  std::string write(const ArrowNode& node, const ArrowArray& array, int64_t index) {
    add(node, array, index);
    return std::move(out_);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as arrow_node() lets types be
  void add(const ArrowNode& node, const ArrowArray& array, int64_t index) {
    require_sample_size(std::ssize(out_), max_bytes_);
    if (is_arrow_null(node, array, index)) {
      out_ += "null";
      return;
    }
    switch (node.kind) {
      case ArrowKind::boolean:
        out_ += arrow_boolean(array, index) ? "true" : "false";
        return;
      case ArrowKind::integer:
        out_ += std::to_string(arrow_integer(node, array, index));
        return;
      case ArrowKind::real:
        return add_json_real(arrow_real(node, array, index), out_);
      case ArrowKind::text:
        return add_text(arrow_bytes(node, array, index));
      case ArrowKind::list: {
        const ArrowItems items = arrow_items(node, array, index);
        out_ += '[';
        for (int64_t i = items.begin; i < items.end; ++i) {
          if (i > items.begin) out_ += ", ";
          add(node.children.front(), *array.children[0], i);
        }
        out_ += ']';
        return;
      }
      case ArrowKind::structure:
        out_ += '{';
        for (size_t i = 0; i < node.children.size(); ++i) {
          if (i > 0) out_ += ", ";
          add_json_text(node.children[i].name, out_);
          out_ += ": ";
          add(node.children[i], *array.children[i], array.offset + index);
        }
        out_ += '}';
        return;
      default:
        throw error_of(ErrorCode::unsupported,
                       "has {} in a list or dictionary, but JSON cannot "
                       "hold them; write them outside the list or dictionary",
                       values_of(node));
    }
  }

  void add_text(std::span<const std::byte> text) {
    add_json_text({reinterpret_cast<const char*>(text.data()), text.size()}, out_);
  }

  const int64_t max_bytes_;
  std::string out_;
};

double real_of(const ArrowNode& node, const ArrowArray& array, int64_t index) {
  if (node.kind == ArrowKind::real) return arrow_real(node, array, index);
  const int64_t whole = arrow_integer(node, array, index);
  constexpr int64_t kExact = int64_t{1} << 53;
  if (whole > kExact || whole < -kExact) {
    throw error_of(ErrorCode::unsupported,
                   "is {}, but other samples have real numbers, which cannot hold it", whole);
  }
  return static_cast<double>(whole);
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
  return arrow_whole_number(array, node.format, array.offset + index);
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
    const int64_t size = arrow_fixed_size(format);
    return {static_cast<const std::byte*>(array.buffers[1]) + place * size,
            static_cast<size_t>(size)};
  }
  return arrow_bytes(array, format == "U" || format == "Z", place);
}

ArrowItems arrow_items(const ArrowNode& node, const ArrowArray& array, int64_t index) {
  const std::string_view format = node.format;
  const int64_t place = array.offset + index;
  if (format.starts_with("+w:")) {
    const int64_t size = arrow_fixed_size(format);
    return {.begin = place * size, .end = (place + 1) * size};
  }
  const bool is_wide = format == "+L";
  return {.begin = arrow_offset(array, is_wide, place),
          .end = arrow_offset(array, is_wide, place + 1)};
}

std::optional<FileRange> find_arrow_table(int64_t num_bytes, const ReadBytes& read) {
  constexpr int64_t kFooterBytes = sizeof(uint32_t) + kArrowMagic.size();
  std::array<std::byte, kFooterBytes> footer{};
  if (num_bytes < kFooterBytes) return std::nullopt;
  read(num_bytes - kFooterBytes, footer);
  StoredBytes from(footer);
  const auto table_bytes = from.number<uint32_t>();
  if (std::memcmp(from.rest().data(), kArrowMagic.data(), kArrowMagic.size()) != 0) {
    return std::nullopt;
  }
  const int64_t before = num_bytes - kFooterBytes;
  if (table_bytes == 0 || table_bytes > before) {
    throw error_of(ErrorCode::corrupt,
                   "the file ends with an Arrow table of {} bytes, but the table must have 1 to {} "
                   "bytes; copy the file again",
                   table_bytes, before);
  }
  return FileRange{.offset = before - table_bytes, .num_bytes = table_bytes};
}

std::vector<TableLeaf> table_leaves(const ArrowNode& root, const std::vector<std::string>& leaves) {
  if (root.kind != ArrowKind::structure) {
    throw Error(ErrorCode::corrupt, "the Arrow table has no columns");
  }
  return LeafFinder(leaves).find(root);
}

TableFormat table_format(const std::vector<const ArrowNode*>& nodes) {
  constexpr EnumName<ArrowKind> kFormats[] = {
      {ArrowKind::boolean, "bool"},  {ArrowKind::integer, "int"}, {ArrowKind::real, "float"},
      {ArrowKind::text, "str"},      {ArrowKind::bytes, "bytes"}, {ArrowKind::list, "json"},
      {ArrowKind::structure, "json"}};
  const ArrowNode* first = nullptr;
  std::string format;
  for (const ArrowNode* node : nodes) {
    if (node->kind == ArrowKind::nothing) continue;
    if (node->kind == ArrowKind::other) {
      return {.format = {}, .refusal = "has " + values_of(*node)};
    }
    const std::string other(name_of(kFormats, node->kind));
    const bool are_numbers =
        (format == "int" && other == "float") || (format == "float" && other == "int");
    if (first == nullptr || are_numbers) {
      format = first == nullptr ? other : "float";
      if (first == nullptr) first = node;
    } else if (format != other) {
      return {.format = {},
              .refusal = fmt::format("has {} in some chunks, and {} in others", values_of(*first),
                                     values_of(*node))};
    }
  }
  return {.format = format, .refusal = {}};
}

void read_table_leaf(const LitDataFormat& format, const TableLeaf& leaf, const ArrowArray& batch,
                     int64_t row, int64_t max_bytes, RowValue& value, SampleBuffers& buffers) {
  const ArrowArray* array = &batch;
  for (const size_t step : leaf.steps) {
    row += array->offset;
    array = array->children[step];
    if (is_arrow_null(*array, row)) return;
  }
  const ArrowNode& node = *leaf.node;
  if (is_arrow_null(node, *array, row)) return;
  if (format.kind == LitDataKind::json) {
    const std::string text = TableJson(max_bytes).write(node, *array, row);
    return value.set_bytes(std::as_bytes(std::span(buffers.text(text))));
  }
  if (format.kind == LitDataKind::plain) {
    return value.set_bytes(array_copy(buffers, arrow_bytes(node, *array, row)));
  }
  switch (format.field.dtype) {
    case DType::u8:
      return value.set_scalar<uint8_t>(arrow_boolean(*array, row) ? 1 : 0);
    case DType::f64:
      return value.set_scalar(real_of(node, *array, row));
    default:
      return value.set_scalar(arrow_integer(node, *array, row));
  }
}

}  // namespace ffkit
