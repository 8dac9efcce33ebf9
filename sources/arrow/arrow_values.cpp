// The values of a row of Arrow's arrays.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "arrow/arrow_access.h"
#include "arrow/arrow_columns.h"
#include "converter/input/sample_arrays.h"

namespace ffkit {
namespace {

// Neighbouring elements of an array, which a row has, and how they are cut.
struct ItemRange {
  const ArrowArray* array = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  bool is_null = false;
  bool is_fixed = false;  // the outermost list has a fixed size
  // Of each list on the way: the lengths of the lists.
  std::vector<std::vector<int64_t>> lengths;
  // Of a list: which of its items have a null in them. Empty: none of them.
  std::vector<bool> has_null;
  // What is left without these items, where there are some.
  std::optional<std::vector<int64_t>> left;

  int64_t size() const { return left ? std::ssize(*left) : end - begin; }
  int64_t at(int64_t i) const { return left ? (*left)[static_cast<size_t>(i)] : begin + i; }
};

// Of each element of the present range: the item of the outermost list that it is in.
std::vector<size_t> owners_of(std::span<const std::vector<int64_t>> lengths) {
  std::vector<size_t> owners(static_cast<size_t>(lengths.front().front()));
  std::iota(owners.begin(), owners.end(), size_t{0});
  for (const std::vector<int64_t>& inner : lengths.subspan(1)) {
    std::vector<size_t> next;
    for (size_t i = 0; i < inner.size(); ++i) {
      next.insert(next.end(), static_cast<size_t>(inner[i]), owners[i]);
    }
    owners = std::move(next);
  }
  return owners;
}

// Looks for nulls among the elements of the range: of no list, the value is null; else an item is.
void find_nulls(ItemRange& range) {
  std::vector<size_t> owners;
  for (int64_t i = range.begin; i < range.end; ++i) {
    if (!is_arrow_null(*range.array, i)) continue;
    if (range.lengths.empty()) {
      range.is_null = true;
      return;
    }
    if (owners.empty()) owners = owners_of(range.lengths);
    range.has_null.resize(static_cast<size_t>(range.lengths.front().front()));
    range.has_null[owners[static_cast<size_t>(i - range.begin)]] = true;
  }
}

ItemRange items_of(const ArrowPlace& place, const ArrowArray& batch, int64_t row) {
  ItemRange range{.array = &batch, .begin = row, .end = row + 1};
  for (const ArrowStep& step : place.steps) {
    find_nulls(range);
    if (range.is_null) return range;
    const int64_t first = range.array->offset + range.begin;
    const int64_t last = range.array->offset + range.end;
    if (!step.is_list) {
      range.begin = first;
      range.end = last;
    } else {
      std::vector<int64_t> lengths;
      lengths.reserve(static_cast<size_t>(last - first));
      if (range.lengths.empty()) range.is_fixed = step.fixed_size > 0;
      if (step.fixed_size > 0) {
        lengths.assign(static_cast<size_t>(last - first), step.fixed_size);
        range.begin = first * step.fixed_size;
        range.end = last * step.fixed_size;
      } else {
        for (int64_t i = first; i < last; ++i) {
          lengths.push_back(arrow_offset(*range.array, step.has_wide_offsets, i + 1) -
                            arrow_offset(*range.array, step.has_wide_offsets, i));
        }
        range.begin = arrow_offset(*range.array, step.has_wide_offsets, first);
        range.end = arrow_offset(*range.array, step.has_wide_offsets, last);
      }
      range.lengths.push_back(std::move(lengths));
    }
    range.array = range.array->children[step.child];
  }
  find_nulls(range);
  return range;
}

// Leaves out the items that have a null in them; of a list of fixed size, the whole list.
void leave_out_nulls(ItemRange& range) {
  if (range.has_null.empty()) return;
  if (range.is_fixed) {
    range.is_null = true;
    return;
  }
  const std::vector<size_t> owners = owners_of(range.lengths);
  range.left.emplace();
  for (size_t i = 0; i < owners.size(); ++i) {
    if (!range.has_null[owners[i]]) range.left->push_back(range.begin + static_cast<int64_t>(i));
  }
  const std::span lengths(range.lengths);
  for (size_t depth = lengths.size(); --depth > 0;) {
    const std::vector<size_t> lists = owners_of(lengths.first(depth));
    size_t i = 0;
    std::erase_if(lengths[depth], [&](int64_t) { return range.has_null[lists[i++]]; });
  }
  lengths.front().front() -= std::ranges::count(range.has_null, true);
}

// The shape of regular lists; nothing for others.
std::optional<std::vector<int64_t>> shape_of_lists(const ItemRange& range) {
  std::vector<int64_t> shape;
  for (const std::vector<int64_t>& lengths : range.lengths) {
    // Of no lists at all, the length of one is not known.
    const int64_t length = lengths.empty() ? 0 : lengths.front();
    if (std::ranges::any_of(lengths, [length](int64_t other) { return other != length; })) {
      return std::nullopt;
    }
    shape.push_back(length);
  }
  return shape;
}

// The numbers of the range, copied.
std::span<const std::byte> numbers_of(ArrowLeaf leaf, DType dtype, const ItemRange& range,
                                      SampleBuffers& buffers) {
  const auto count = static_cast<size_t>(range.size());
  const auto place_of = [&](size_t i) {
    return range.array->offset + range.at(static_cast<int64_t>(i));
  };
  if (leaf == ArrowLeaf::boolean) {
    const std::span<std::byte> out = buffers.bytes(count);
    for (size_t i = 0; i < count; ++i) {
      out[i] = std::byte{arrow_bit(range.array->buffers[1], place_of(i))};
    }
    return out;
  }
  const size_t width = size_of(dtype);
  const std::span<std::byte> out = buffers.bytes(count * width);
  if (count == 0) return out;
  const auto* const from = static_cast<const std::byte*>(range.array->buffers[1]);
  if (!range.left) {
    std::memcpy(out.data(), from + static_cast<size_t>(place_of(0)) * width, out.size());
  } else {
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&out[i * width], from + static_cast<size_t>(place_of(i)) * width, width);
    }
  }
  return out;
}

std::span<const std::byte> bytes_at(const ArrowPlace& place, const ArrowArray& leaf,
                                    int64_t index) {
  const ArrowArray* array = &leaf;
  index += leaf.offset;
  if (!place.index_format.empty()) {
    index = arrow_whole_number(leaf, place.index_format, index);
    array = leaf.dictionary;
    if (index < 0 || index >= array->length) {
      throw Error(ErrorCode::corrupt, "has a number beyond its dictionary");
    }
    index += array->offset;
  }
  if (place.is_view) return arrow_viewed_bytes(*array, index);
  if (place.fixed_size > 0) {
    const auto size = static_cast<size_t>(place.fixed_size);
    return {static_cast<const std::byte*>(array->buffers[1]) + static_cast<size_t>(index) * size,
            size};
  }
  return arrow_bytes(*array, place.has_wide_offsets, index);
}

void read_numbers(const ArrowColumn& column, ArrowLeaf leaf, const ItemRange& range,
                  RowValue& value, SampleBuffers& buffers) {
  const Field& field = column.column.field;
  const std::span<const std::byte> numbers = numbers_of(leaf, field.dtype, range, buffers);
  if (field.type == FieldType::image) {
    if (range.left) throw Error(ErrorCode::invalid_argument, "has a null among its bytes");
    return value.set_bytes(numbers);
  }
  if (field.type == FieldType::scalar) {
    value.is_null = false;
    std::memcpy(&value.bits, numbers.data(), numbers.size());
    return;
  }
  if (field.type == FieldType::tensor) {
    auto shape = shape_of_lists(range);
    if (!shape) throw Error(ErrorCode::invalid_argument, "its lists have different lengths");
    if (shape->front() == 0 && !column.empty_shape.empty()) shape = column.empty_shape;
    if (!column.fixed_shape.empty()) shape = column.fixed_shape;
    return value.set_tensor({field.dtype, *shape, numbers});
  }
  // A list of tensors: one for each item of the outermost list.
  value.is_null = false;
  if (range.size() == 0 && range.lengths.size() == 1) return;  // of nothing
  size_t begin = 0;
  for (const int64_t length : range.lengths[1]) {
    const size_t num_bytes = static_cast<size_t>(length) * size_of(field.dtype);
    value.tensors.push_back({field.dtype, {length}, numbers.subspan(begin, num_bytes)});
    begin += num_bytes;
  }
}

void read_range(const ArrowColumn& column, const ArrowPlace& place, const ItemRange& range,
                RowValue& value, SampleBuffers& buffers, ArrowBytes bytes) {
  if (range.is_null) return;
  // Lists of nothing are lists of what other files have.
  const ArrowLeaf leaf = place.leaf == ArrowLeaf::nothing ? column.place.leaf : place.leaf;
  if (leaf == ArrowLeaf::number || leaf == ArrowLeaf::boolean) {
    return read_numbers(column, leaf, range, value, buffers);
  }
  value.is_null = false;
  const auto at = [&](int64_t i) {
    const std::span<const std::byte> found = bytes_at(place, *range.array, range.at(i));
    return bytes == ArrowBytes::copied ? array_copy(buffers, found) : found;
  };
  if (place.depth == 0) {
    value.bytes = at(0);
    return;
  }
  value.items.reserve(static_cast<size_t>(range.size()));
  for (int64_t i = 0; i < range.size(); ++i) value.items.push_back(at(i));
}

// The items of the outermost lists of some columns that are members of the same things: of structs
// in one list, or of one struct that has the lists.
struct BadItems {
  const ArrowPlace& place;   // of the first of these columns
  std::vector<bool> is_bad;  // a column has a null there
  std::string columns;       // that have

  bool are_of(const ArrowPlace& other, const ItemRange& range) const {
    const auto struct_of = [](const ArrowPlace& of) {
      const auto list = std::ranges::find(of.steps, true, &ArrowStep::is_list);
      const std::ptrdiff_t length = list - of.steps.begin();
      return std::span(of.steps).first(static_cast<size_t>(length > 1 ? length - 1 : length));
    };
    return !range.lengths.empty() && range.lengths.front().front() == std::ssize(is_bad) &&
           std::ranges::equal(struct_of(place), struct_of(other));
  }
  void add(const std::vector<bool>& others) {
    for (size_t i = 0; i < is_bad.size(); ++i) is_bad[i] = is_bad[i] || others[i];
  }
};

}  // namespace

std::optional<std::vector<int64_t>> nested_shape(const ArrowPlace& place, const ArrowArray& batch,
                                                 int64_t row) {
  ItemRange range = items_of(place, batch, row);
  leave_out_nulls(range);
  if (range.is_null) return std::vector<int64_t>();
  return shape_of_lists(range);
}

bool has_null_inside(const ArrowPlace& place, const ArrowArray& batch, int64_t row) {
  return !items_of(place, batch, row).has_null.empty();
}

void read_arrow_value(const ArrowColumn& column, const ArrowPlace& place, const ArrowArray& batch,
                      int64_t row, RowValue& value, SampleBuffers& buffers, ArrowBytes bytes) {
  ItemRange range = items_of(place, batch, row);
  leave_out_nulls(range);
  read_range(column, place, range, value, buffers, bytes);
}

void read_arrow_row(std::span<const ArrowColumn> columns, std::span<const ArrowPlace* const> places,
                    const ArrowArray& batch, int64_t row, std::span<RowValue> values,
                    SampleBuffers& buffers) {
  std::vector<ItemRange> ranges(columns.size());
  std::vector<BadItems> bad;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (places[i] == nullptr) continue;
    ranges[i] = items_of(*places[i], batch, row);
    const std::vector<bool>& has_null = ranges[i].has_null;
    if (has_null.empty()) continue;
    const std::string& name = columns[i].column.field.name;
    if (ranges[i].is_fixed) {
      buffers.leave_out(fmt::format(
          "column '{}': a list of fixed size has a null in it, so the field is null", name));
      continue;
    }
    const auto known = std::ranges::find_if(
        bad, [&](const BadItems& items) { return items.are_of(*places[i], ranges[i]); });
    if (known == bad.end()) {
      bad.push_back({*places[i], has_null, name});
    } else {
      known->add(has_null);
      known->columns += "', '" + name;
    }
  }
  for (const BadItems& items : bad) {
    const auto count = std::ranges::count(items.is_bad, true);
    buffers.leave_out(fmt::format("column '{}': {} of {} items {} null, or {} a null inside",
                                  items.columns, count, items.is_bad.size(),
                                  count == 1 ? "is" : "are", count == 1 ? "has" : "have"),
                      "", count);
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (places[i] == nullptr) continue;
    for (const BadItems& items : bad) {
      if (!ranges[i].is_fixed && items.are_of(*places[i], ranges[i]))
        ranges[i].has_null = items.is_bad;
    }
    leave_out_nulls(ranges[i]);
    in_column(columns[i].column.field.name, [&] {
      read_range(columns[i], *places[i], ranges[i], values[i], buffers, ArrowBytes::copied);
    });
  }
}

}  // namespace ffkit
