// The values of a row of Arrow's arrays.
#include <algorithm>
#include <cstring>
#include <optional>

#include "arrow/arrow_access.h"
#include "arrow/arrow_columns.h"
#include "base/make_error.h"
#include "converter/input/sample_arrays.h"

namespace ffkit {
namespace {

// Neighbouring items of an array, which a row has, and how they are cut.
struct ItemRange {
  const ArrowArray* array = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  bool is_null = false;
  // Of each list on the way: the lengths of the lists.
  std::vector<std::vector<int64_t>> lengths;
};

[[noreturn]] void null_inside() {
  throw Error(ErrorCode::invalid_argument, "a list has a null in it");
}

ItemRange items_of(const ArrowPlace& place, const ArrowArray& batch, int64_t row) {
  ItemRange range{.array = &batch, .begin = row, .end = row + 1};
  for (const ArrowStep& step : place.steps) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (!is_arrow_null(*range.array, i)) continue;
      if (!range.lengths.empty()) null_inside();
      range.is_null = true;
      return range;
    }
    const int64_t first = range.array->offset + range.begin;
    const int64_t last = range.array->offset + range.end;
    if (!step.is_list) {
      range.begin = first;
      range.end = last;
    } else {
      std::vector<int64_t> lengths;
      lengths.reserve(static_cast<size_t>(last - first));
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
  const bool is_single = range.lengths.empty();
  for (int64_t i = range.begin; i < range.end; ++i) {
    if (!is_arrow_null(*range.array, i)) continue;
    if (!is_single) null_inside();
    range.is_null = true;
  }
  return range;
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
  const auto count = static_cast<size_t>(range.end - range.begin);
  const int64_t first = range.array->offset + range.begin;
  if (leaf == ArrowLeaf::boolean) {
    const std::span<std::byte> out = buffers.bytes(count);
    for (size_t i = 0; i < count; ++i) {
      out[i] = std::byte{arrow_bit(range.array->buffers[1], first + static_cast<int64_t>(i))};
    }
    return out;
  }
  const size_t width = size_of(dtype);
  const std::span<std::byte> out = buffers.bytes(count * width);
  if (count > 0) {
    std::memcpy(
        out.data(),
        static_cast<const std::byte*>(range.array->buffers[1]) + static_cast<size_t>(first) * width,
        out.size());
  }
  return out;
}

// Which value of the dictionary stands at `index`, with the array's offset.
int64_t dictionary_index(const std::string& format, const void* data, int64_t index) {
  switch (format[0]) {
    case 'c':
      return static_cast<const int8_t*>(data)[index];
    case 'C':
      return static_cast<const uint8_t*>(data)[index];
    case 's':
      return static_cast<const int16_t*>(data)[index];
    case 'S':
      return static_cast<const uint16_t*>(data)[index];
    case 'i':
      return static_cast<const int32_t*>(data)[index];
    case 'I':
      return static_cast<const uint32_t*>(data)[index];
    default:
      return static_cast<const int64_t*>(data)[index];
  }
}

std::span<const std::byte> bytes_at(const ArrowPlace& place, const ArrowArray& leaf,
                                    int64_t index) {
  const ArrowArray* array = &leaf;
  index += leaf.offset;
  if (!place.index_format.empty()) {
    index = dictionary_index(place.index_format, leaf.buffers[1], index);
    array = leaf.dictionary;
    if (index < 0 || index >= array->length) {
      throw Error(ErrorCode::corrupt, "a number beyond its dictionary");
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
  if (field.type == FieldType::image) return value.set_bytes(numbers);
  if (field.type == FieldType::scalar) {
    value.is_null = false;
    std::memcpy(&value.bits, numbers.data(), numbers.size());
    return;
  }
  if (field.type == FieldType::tensor) {
    auto shape = shape_of_lists(range);
    if (!shape) throw Error(ErrorCode::invalid_argument, "its lists are of different lengths");
    if (shape->front() == 0 && !column.empty_shape.empty()) shape = column.empty_shape;
    return value.set_tensor({field.dtype, *shape, numbers});
  }
  // A list of tensors: one for each item of the outermost list.
  value.is_null = false;
  size_t begin = 0;
  for (const int64_t length : range.lengths[1]) {
    const size_t num_bytes = static_cast<size_t>(length) * size_of(field.dtype);
    value.tensors.push_back({field.dtype, {length}, numbers.subspan(begin, num_bytes)});
    begin += num_bytes;
  }
}

}  // namespace

std::optional<std::vector<int64_t>> nested_shape(const ArrowPlace& place, const ArrowArray& batch,
                                                 int64_t row) {
  const ItemRange range = items_of(place, batch, row);
  if (range.is_null) return std::vector<int64_t>();
  return shape_of_lists(range);
}

void read_arrow_value(const ArrowColumn& column, const ArrowPlace& place, const ArrowArray& batch,
                      int64_t row, RowValue& value, SampleBuffers& buffers, ArrowBytes bytes) {
  const ItemRange range = items_of(place, batch, row);
  if (range.is_null) return;
  if (place.leaf == ArrowLeaf::number || place.leaf == ArrowLeaf::boolean) {
    return read_numbers(column, place.leaf, range, value, buffers);
  }
  value.is_null = false;
  const auto at = [&](int64_t index) {
    const std::span<const std::byte> found = bytes_at(place, *range.array, index);
    return bytes == ArrowBytes::copied ? array_copy(buffers, found) : found;
  };
  if (place.depth == 0) {
    value.bytes = at(range.begin);
    return;
  }
  value.items.reserve(static_cast<size_t>(range.end - range.begin));
  for (int64_t i = range.begin; i < range.end; ++i) {
    value.items.push_back(at(i));
  }
}

}  // namespace ffkit
