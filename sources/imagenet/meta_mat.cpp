#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ffkit/format/dtype_visitor.h>

#include "base/printable.h"
#include "converter/input/source_error.h"
#include "imagenet/imagenet_lists.h"

namespace ffkit {
namespace {

// MATLAB level 5 files, as far as tables of numbers and texts go: MathWorks, "MAT-File Format",
// chapter 1.

// A number, a text in UTF-8, or something else (arrays, tables).
using MatCell = std::variant<std::monostate, double, std::string>;

// A struct array: one row an element, one column a field.
struct MatTable {
  std::vector<std::string> columns;
  std::vector<MatCell> cells;  // row by row

  size_t num_rows() const { return columns.empty() ? 0 : cells.size() / columns.size(); }
};

using MatBytes = std::span<const std::byte>;

constexpr size_t kHeaderBytes = 128;
constexpr size_t kMaxExpandedBytes = 16 << 20;

// Table 1-1: types of data.
constexpr uint32_t kInt8 = 1;
constexpr uint32_t kUint8 = 2;
constexpr uint32_t kInt16 = 3;
constexpr uint32_t kUint16 = 4;
constexpr uint32_t kInt32 = 5;
constexpr uint32_t kUint32 = 6;
constexpr uint32_t kSingle = 7;
constexpr uint32_t kDouble = 9;
constexpr uint32_t kInt64 = 12;
constexpr uint32_t kUint64 = 13;
constexpr uint32_t kMatrix = 14;
constexpr uint32_t kCompressed = 15;
constexpr uint32_t kUtf8 = 16;
constexpr uint32_t kUtf16 = 17;
// Table 1-3: classes of arrays.
constexpr uint32_t kStructClass = 2;
constexpr uint32_t kCharClass = 4;
constexpr uint32_t kDoubleClass = 6;
constexpr uint32_t kUint64Class = 15;

struct Damaged {
  std::string message;
};

template <typename T>
T load(MatBytes bytes, size_t index = 0) {
  return load_number<T>(bytes.data() + index * sizeof(T));
}

struct Element {
  uint32_t type = 0;
  MatBytes data;
};

// Takes elements off the front of `bytes`.
class ElementReader {
 public:
  explicit ElementReader(MatBytes bytes) : rest_(bytes) {}

  bool is_at_end() const { return rest_.empty(); }
  size_t num_bytes_left() const { return rest_.size(); }

  Element next() {
    constexpr size_t kTagBytes = 8;
    if (rest_.size() < kTagBytes) throw Damaged{"the file is cut short"};
    const auto word = load<uint32_t>(rest_);
    Element element{.type = word & 0xFFFFU};
    // A length in the upper half: up to four bytes of data in the tag itself.
    if (const uint32_t length = word >> 16; length > 0) {
      if (length > 4) throw Damaged{"the file is damaged"};
      element.data = rest_.subspan(4, length);
      rest_ = rest_.subspan(kTagBytes);
      return element;
    }
    const size_t length = load<uint32_t>(rest_, 1);
    rest_ = rest_.subspan(kTagBytes);
    if (length > rest_.size()) throw Damaged{"the file is cut short"};
    element.data = rest_.first(length);
    // Compressed elements alone are not filled up to a multiple of 8.
    const size_t padded = element.type == kCompressed ? length : (length + 7) / 8 * 8;
    rest_ = rest_.subspan(std::min(padded, rest_.size()));
    return element;
  }

  MatBytes next(uint32_t type) {
    const Element element = next();
    if (element.type != type) throw Damaged{"the file is damaged"};
    return element.data;
  }

 private:
  MatBytes rest_;
};

std::vector<std::byte> expand(MatBytes data, const std::string& origin) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  std::vector<std::byte> out;
  std::array<std::byte, 1 << 16> chunk;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= kMaxExpandedBytes) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = chunk.size();
    status = inflate(&stream, Z_NO_FLUSH);
    out.insert(out.end(), chunk.begin(), chunk.end() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > kMaxExpandedBytes) {
    throw source_error(origin, ErrorCode::unsupported,
                       "the file has more than {} bytes after decompression, which is the limit",
                       kMaxExpandedBytes);
  }
  if (status != Z_STREAM_END) throw Damaged{"the compressed data of the file are damaged"};
  return out;
}

// An array up to its content, which is what `rest` is left with.
struct Array {
  uint32_t class_number = 0;
  std::vector<int32_t> dimensions;
  std::string_view name;
  ElementReader rest;

  // Elements, or nothing when they are more than `max`.
  std::optional<size_t> size(size_t max) const {
    size_t product = 1;
    for (const int32_t dimension : dimensions) {
      if (dimension < 0) throw Damaged{"the file is damaged"};
      if (dimension == 0) return 0;
      if (static_cast<size_t>(dimension) > max / product) return std::nullopt;
      product *= static_cast<size_t>(dimension);
    }
    return product;
  }
};

std::string_view text_of_mat(MatBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Array read_array(MatBytes content) {
  Array array{.rest = ElementReader(content)};
  const MatBytes flags = array.rest.next(kUint32);
  if (flags.size() != 8) throw Damaged{"the file is damaged"};
  array.class_number = load<uint32_t>(flags) & 0xFFU;
  const MatBytes dimensions = array.rest.next(kInt32);
  for (size_t i = 0; i < dimensions.size() / sizeof(int32_t); ++i) {
    array.dimensions.push_back(load<int32_t>(dimensions, i));
  }
  if (array.dimensions.size() < 2) throw Damaged{"the file is damaged"};
  array.name = text_of_mat(array.rest.next(kInt8));
  return array;
}

template <typename T>
double number_as(MatBytes bytes) {
  if (bytes.size() < sizeof(T)) throw Damaged{"the file is damaged"};
  return static_cast<double>(load<T>(bytes));
}

// Numbers are kept in the smallest type that holds them, whatever their class.
double read_number(const Element& element) {
  constexpr std::array<std::pair<uint32_t, double (*)(MatBytes)>, 10> kTypes = {
      {{kInt8, number_as<int8_t>},
       {kUint8, number_as<uint8_t>},
       {kInt16, number_as<int16_t>},
       {kUint16, number_as<uint16_t>},
       {kInt32, number_as<int32_t>},
       {kUint32, number_as<uint32_t>},
       {kSingle, number_as<float>},
       {kDouble, number_as<double>},
       {kInt64, number_as<int64_t>},
       {kUint64, number_as<uint64_t>}}};
  for (const auto& [type, read] : kTypes) {
    if (element.type == type) return read(element.data);
  }
  throw Damaged{"the file is damaged"};
}

// Only the basic plane: names hold no surrogates.
void append_utf8(uint16_t unit, std::string& text) {
  if (unit < 0x80) {
    text += static_cast<char>(unit);
  } else if (unit < 0x800) {
    text += static_cast<char>(0xC0 | (unit >> 6));
    text += static_cast<char>(0x80 | (unit & 0x3F));
  } else {
    text += static_cast<char>(0xE0 | (unit >> 12));
    text += static_cast<char>(0x80 | ((unit >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (unit & 0x3F));
  }
}

std::string read_text(const Element& element) {
  std::string text;
  switch (element.type) {
    case kUtf8:
      text = text_of_mat(element.data);
      break;
    case kInt8:
    case kUint8:
      for (const std::byte unit : element.data) append_utf8(std::to_integer<uint8_t>(unit), text);
      break;
    case kUint16:
    case kUtf16:
      for (size_t i = 0; i < element.data.size() / 2; ++i) {
        append_utf8(load<uint16_t>(element.data, i), text);
      }
      break;
    default:
      throw Damaged{"the file is damaged"};
  }
  if (!is_utf8(text)) throw Damaged{"the file is damaged"};
  return text;
}

MatCell read_cell(MatBytes content) {
  if (content.empty()) return {};  // an array without elements may have no header either
  Array array = read_array(content);
  if (array.class_number == kCharClass) {
    if (array.size(0) == 0) return std::string();
    if (array.dimensions.size() > 2 || array.dimensions[0] != 1) return {};
    return read_text(array.rest.next());
  }
  const bool is_number = array.class_number >= kDoubleClass && array.class_number <= kUint64Class;
  if (is_number && array.size(1) == 1) return read_number(array.rest.next());
  return {};
}

MatTable read_table(Array& array) {
  const MatBytes name_length = array.rest.next(kInt32);
  if (name_length.size() != 4 || load<int32_t>(name_length) <= 0)
    throw Damaged{"the file is damaged"};
  const auto length = static_cast<size_t>(load<int32_t>(name_length));
  const std::string_view names = text_of_mat(array.rest.next(kInt8));
  MatTable table;
  for (size_t i = 0; i + length <= names.size(); i += length) {
    const std::string_view name = names.substr(i, length);
    table.columns.emplace_back(name.substr(0, name.find('\0')));
  }
  if (table.columns.empty()) throw Damaged{"the file is damaged"};
  // Every cell takes 8 bytes or more: this bounds the memory.
  const auto num_rows = array.size(array.rest.num_bytes_left() / 8 / table.columns.size());
  if (!num_rows) throw Damaged{"the file is cut short"};
  table.cells.reserve(*num_rows * table.columns.size());
  for (size_t i = 0; i < *num_rows * table.columns.size(); ++i) {
    table.cells.push_back(read_cell(array.rest.next(kMatrix)));
  }
  return table;
}

// The table, when the variable `content` is the one called `name`.
std::optional<MatTable> find_table(MatBytes content, const std::string& name) {
  Array array = read_array(content);
  if (array.name != name || array.class_number != kStructClass) return std::nullopt;
  return read_table(array);
}

std::optional<MatTable> find_table_in_file(MatBytes bytes, const std::string& name,
                                           const std::string& origin) {
  // "IM": the mark of a little-endian file.
  const std::string_view text = text_of_mat(bytes);
  if (!text.starts_with("MATLAB 5.0 MAT-file") || text.size() < kHeaderBytes ||
      text.substr(kHeaderBytes - 2, 2) != "IM") {
    throw Damaged{"the file is not a MATLAB level 5 file"};
  }
  std::optional<MatTable> table;
  // The variables behind it are looked at too, so that a file that is cut short is noticed.
  for (ElementReader reader(bytes.subspan(kHeaderBytes)); !reader.is_at_end();) {
    const Element element = reader.next();
    if (element.type != kMatrix && element.type != kCompressed)
      throw Damaged{"the file is damaged"};
    std::vector<std::byte> expanded;
    MatBytes content = element.data;
    if (element.type == kCompressed) {
      expanded = expand(element.data, origin);
      content = ElementReader(expanded).next(kMatrix);
    }
    if (auto found = find_table(content, name)) table = std::move(found);
  }
  return table;
}

// The struct array `name` of the file `bytes`. Throws Error(corrupt) naming `origin` when it is no
// such file, is cut short or damaged, or has no such table, and Error(unsupported) when it expands
// to more than 16 MiB.
MatTable read_mat_table(MatBytes bytes, const std::string& name, const std::string& origin) {
  try {
    if (auto table = find_table_in_file(bytes, name, origin)) return std::move(*table);
    throw Damaged{fmt::format("the file has no table '{}'", name)};
  } catch (const Damaged& damaged) {
    throw source_error(origin, ErrorCode::corrupt, damaged.message + "; get the devkit again");
  }
}

[[noreturn]] void bad_meta(const std::string& origin, const std::string& message) {
  throw source_error(origin, ErrorCode::corrupt,
                     "{}; give the meta.mat of ILSVRC2012, or get the devkit again", message);
}

class SynsetTable {
 public:
  SynsetTable(const MatTable& table, const std::string& origin) : table_(table), origin_(origin) {}

  int64_t integer(const char* field, size_t row) const {
    const auto* number = std::get_if<double>(&cell(field, row));
    if (number == nullptr || !(*number >= 0 && *number < 1e9) || *number != std::floor(*number)) {
      bad_meta(origin_, fmt::format("row {} has a value of '{}' that is not a whole number",
                                    row + 1, field));
    }
    return static_cast<int64_t>(*number);
  }

  const std::string& text(const char* field, size_t row) const {
    const auto* text = std::get_if<std::string>(&cell(field, row));
    if (text == nullptr)
      bad_meta(origin_, fmt::format("row {} has a value of '{}' that is not text", row + 1, field));
    return *text;
  }

 private:
  const MatCell& cell(const char* field, size_t row) const {
    const auto column = std::ranges::find(table_.columns, field);
    if (column == table_.columns.end())
      bad_meta(origin_, fmt::format("the table 'synsets' has no column '{}'", field));
    const auto index = static_cast<size_t>(column - table_.columns.begin());
    return table_.cells[row * table_.columns.size() + index];
  }

  const MatTable& table_;
  const std::string& origin_;
};

struct Leaf {
  std::string wnid;
  std::string words;
  int64_t id = 0;
};

}  // namespace

Synsets parse_meta_mat(std::span<const std::byte> bytes, const std::string& origin) {
  const MatTable rows = read_mat_table(bytes, "synsets", origin);
  const SynsetTable table(rows, origin);
  std::vector<Leaf> leaves;
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    if (table.integer("num_children", row) != 0) continue;
    leaves.push_back({.wnid = table.text("WNID", row),
                      .words = table.text("words", row),
                      .id = table.integer("ILSVRC2012_ID", row)});
  }
  if (leaves.empty()) bad_meta(origin, "the table 'synsets' has no class without children");
  std::ranges::sort(leaves, {}, &Leaf::wnid);

  Synsets synsets;
  for (Leaf& leaf : leaves) {
    const auto label = std::ssize(synsets.wnids);
    const bool is_new_id = synsets.label_of_id.emplace(leaf.id, label).second;
    if (!is_new_id || (label > 0 && synsets.wnids.back() == leaf.wnid)) {
      bad_meta(
          origin,
          fmt::format("the table 'synsets' has the class '{}' twice, or the class number {} twice",
                      leaf.wnid, leaf.id));
    }
    synsets.wnids.push_back(std::move(leaf.wnid));
    synsets.words.push_back(std::move(leaf.words));
  }
  return synsets;
}

}  // namespace ffkit
