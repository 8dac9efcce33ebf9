#include "litdata/arrow_chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "arrow/arrow_access.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "converter/input/sample_arrays.h"
#include "converter/input/sample_size.h"
#include "rows/stored_values.h"

namespace ffkit {
namespace {

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
  switch (node.kind) {
    case ArrowKind::boolean:
      return "true and false";
    case ArrowKind::integer:
      return "whole numbers";
    case ArrowKind::real:
      return "real numbers";
    case ArrowKind::text:
      return "texts";
    case ArrowKind::bytes:
      return "bytes";
    case ArrowKind::list:
    case ArrowKind::structure:
      return "lists or dictionaries";
    default:
      return fmt::format("Arrow's type '{}', which no field holds", printable(node.format));
  }
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
                       "has {} in a list or dictionary, which JSON cannot "
                       "hold; write them beside it",
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
                   "is {}, and real numbers, as other samples have them, hold no such whole number",
                   whole);
  }
  return static_cast<double>(whole);
}

}  // namespace

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
                   "ends in an Arrow table of {} bytes, and has {} before its end; copy it again",
                   table_bytes, before);
  }
  return FileRange{.offset = before - table_bytes, .num_bytes = table_bytes};
}

std::vector<TableLeaf> table_leaves(const ArrowNode& root, const std::vector<std::string>& leaves) {
  if (root.kind != ArrowKind::structure) {
    throw Error(ErrorCode::corrupt, "its Arrow table has no columns");
  }
  return LeafFinder(leaves).find(root);
}

TableFormat table_format(const std::vector<const ArrowNode*>& nodes) {
  const ArrowNode* first = nullptr;
  std::string format;
  for (const ArrowNode* node : nodes) {
    std::string other;
    switch (node->kind) {
      case ArrowKind::nothing:
        continue;
      case ArrowKind::boolean:
        other = "bool";
        break;
      case ArrowKind::integer:
        other = "int";
        break;
      case ArrowKind::real:
        other = "float";
        break;
      case ArrowKind::text:
        other = "str";
        break;
      case ArrowKind::bytes:
        other = "bytes";
        break;
      case ArrowKind::list:
      case ArrowKind::structure:
        other = "json";
        break;
      case ArrowKind::other:
        return {.format = {}, .refusal = "has " + values_of(*node)};
    }
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
