#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include <ffkit/sources/arrow_samples.h>

#include "arrow/arrow_access.h"
#include "arrow/arrow_columns.h"
#include "arrow/picture_modes.h"
#include "base/make_error.h"
#include "converter/input/row_values.h"

namespace ffkit {
namespace {

struct TakenColumn {
  size_t field = 0;
  ArrowColumn from;            // its field is of the column's dtype, and of the field's type
  std::vector<int64_t> shape;  // that is given; else empty
};

bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64;
}

bool is_whole(DType dtype) {
  return !is_real(dtype) && dtype != DType::f16 && dtype != DType::bf16;
}

bool converts(DType from, DType to) {
  if (from == to) return true;
  return is_real(to) ? is_real(from) || is_whole(from) : is_whole(to) && is_whole(from);
}

// The format of a column's values, below its lists and structs.
std::string_view leaf_format(const ArrowSchema& column, const ArrowPlace& place) {
  const ArrowSchema* schema = &column;
  for (size_t i = 1; i < place.steps.size(); ++i) schema = schema->children[place.steps[i].child];
  return schema->format;
}

// Times are numbers as arrow_columns() sees them, and none here: a field does not say their unit.
bool takes_format(std::string_view format) {
  return !format.starts_with('t') && format != "w:0";
}

bool takes_column(const Field& field, const ArrowColumn& column, bool has_shape) {
  const ArrowPlace& place = column.place;
  const bool is_number = place.leaf == ArrowLeaf::number || place.leaf == ArrowLeaf::boolean;
  const DType dtype = column.column.field.dtype;
  const bool is_bytes = place.leaf == ArrowLeaf::bytes;
  if (has_shape && field.type != FieldType::tensor) return false;
  switch (field.type) {
    case FieldType::string:
      return place.leaf == ArrowLeaf::text && place.depth == 0;
    case FieldType::bytes:
      return is_bytes && place.depth == 0 && !column.is_of_file;
    case FieldType::image:
      return is_bytes && place.depth == 0;
    case FieldType::scalar:
      return is_number && place.depth == 0 && converts(dtype, field.dtype);
    case FieldType::tensor:
      return is_number && place.depth > 0 && dtype == field.dtype;
    case FieldType::list:
      if (field.item == FieldType::tensor) {
        return is_number && place.depth == 2 && dtype == field.dtype;
      }
      if (field.item == FieldType::string) return place.leaf == ArrowLeaf::text && place.depth == 1;
      return is_bytes && place.depth == 1 && (field.item == FieldType::image || !column.is_of_file);
  }
  return false;
}

// Whether the array, from its offset on, has a null.
bool has_nulls(const ArrowArray& array) {
  if (array.null_count >= 0) return array.null_count > 0;
  for (int64_t i = 0; i < array.length; ++i) {
    if (is_arrow_null(array, i)) return true;
  }
  return false;
}

// Of a column in a batch: arrays from the top to the one with the values.
std::vector<const ArrowArray*> arrays_of(const ArrowArray& batch, const ArrowPlace& place) {
  std::vector<const ArrowArray*> arrays;
  arrays.reserve(place.steps.size());
  const ArrowArray* array = &batch;
  for (const ArrowStep& step : place.steps) {
    array = array->children[step.child];
    arrays.push_back(array);
  }
  return arrays;
}

// Whether a row has a file without its bytes.
bool has_file_without_bytes(const ArrowArray& file, size_t bytes_child) {
  const ArrowArray& bytes = *file.children[bytes_child];
  if (!has_nulls(bytes)) return false;
  for (int64_t i = 0; i < file.length; ++i) {
    if (!is_arrow_null(file, i) && is_arrow_null(bytes, file.offset + i)) return true;
  }
  return false;
}

// Whether a list of a row has a null in it. What stands in lists that are null does not count.
bool has_nulls_inside(const ArrowPlace& place, const ArrowArray& batch) {
  const std::vector<const ArrowArray*> arrays = arrays_of(batch, place);
  bool is_inside = false;
  bool may_have = false;
  for (size_t i = 0; i < arrays.size(); ++i) {
    may_have = may_have || (is_inside && has_nulls(*arrays[i]));
    is_inside = is_inside || (i + 1 < arrays.size() && place.steps[i + 1].is_list);
  }
  if (!may_have) return false;
  for (int64_t row = 0; row < batch.length; ++row) {
    if (has_null_inside(place, batch, row)) return true;
  }
  return false;
}

template <typename Real>
uint64_t bits_of_real(double value) {
  const auto real = static_cast<Real>(value);
  uint64_t bits = 0;
  std::memcpy(&bits, &real, sizeof(real));
  return bits;
}

// A number of dtype `from` as one of `to`. Throws Error(invalid_argument) where that does not hold
// it.
uint64_t converted_bits(uint64_t bits, DType from, DType to) {
  if (from == to) return bits;
  if (is_real(to)) {
    double value = 0;
    if (from == DType::f32) {
      float real = 0;
      std::memcpy(&real, &bits, sizeof(real));
      value = static_cast<double>(real);
    } else if (from == DType::f64) {
      std::memcpy(&value, &bits, sizeof(value));
    } else {
      value = from == DType::u64 ? static_cast<double>(bits)
                                 : static_cast<double>(whole_number(from, bits));
    }
    return to == DType::f32 ? bits_of_real<float>(value) : bits_of_real<double>(value);
  }
  const bool is_beyond_signed =
      from == DType::u64 && bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const int64_t value = is_beyond_signed ? 0 : whole_number(from, bits);
  const bool has_sign = to == DType::i8 || to == DType::i16 || to == DType::i32 || to == DType::i64;
  const size_t num_bits = 8 * size_of(to);
  bool fits = !is_beyond_signed;
  if (to == DType::u64) {
    fits = is_beyond_signed || value >= 0;
  } else if (fits && !has_sign) {
    fits = value >= 0 && static_cast<uint64_t>(value) >> num_bits == 0;
  } else if (fits && num_bits < 64) {
    const int64_t limit = int64_t{1} << (num_bits - 1);
    fits = value >= -limit && value < limit;
  }
  if (!fits) {
    throw error_of(ErrorCode::invalid_argument, "the type {} of this field cannot hold {}",
                   to_string(to), is_beyond_signed ? std::to_string(bits) : std::to_string(value));
  }
  return is_beyond_signed ? bits : static_cast<uint64_t>(value);
}

Error column_error(const std::string& name, const std::string& message) {
  return {ErrorCode::unsupported, message, {.subject = ErrorSubject::field, .name = name}};
}

// "scalar f32", "list of image".
std::string type_of(const Field& field) {
  const std::string type(to_string(field.type));
  if (field.type == FieldType::list) return fmt::format("{} of {}", type, to_string(field.item));
  const bool has_dtype = field.type == FieldType::scalar || field.type == FieldType::tensor;
  return has_dtype ? fmt::format("{} {}", type, to_string(field.dtype)) : type;
}

// As NumPy sees nested lists: below a list without items there is nothing more.
void cut_at_empty(std::vector<int64_t>& shape) {
  const auto empty = std::ranges::find(shape, int64_t{0});
  if (empty != shape.end()) shape.erase(empty + 1, shape.end());
}

}  // namespace

struct ArrowSamples::Impl {
  Impl(Schema of_samples, const ImageStorage& images)
      : fields(std::move(of_samples)), storer(images) {}

  void take_columns(const ArrowSchema& table,
                    const std::map<std::string, std::vector<int64_t>>& shapes) {
    ArrowColumns known = arrow_columns(table);
    std::set<std::string> names;
    for (int64_t child = 0; child < table.n_children; ++child) {
      const ArrowSchema& column = *table.children[child];
      const std::string name = arrow_name(column);
      if (!names.insert(name).second) {
        throw column_error(name, fmt::format("the table has two columns with the name '{}'", name));
      }
      const int field = fields.index_of(name);
      if (field < 0) {
        throw column_error(name, fmt::format("the schema has no field for the column '{}'", name));
      }
      if (std::string_view(column.format) == "n") continue;  // nulls alone
      const auto shape = shapes.find(name);
      take(static_cast<size_t>(field), column, column_at(known, child),
           shape == shapes.end() ? std::vector<int64_t>() : shape->second);
    }
    const int id = fields.index_of("id");
    if (id < 0 || fields.fields[static_cast<size_t>(id)].type != FieldType::string) return;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].field == static_cast<size_t>(id)) id_column = i;
    }
  }

  // Of those that arrow_columns() has made of a child: the only one, or the bytes of a file.
  static std::optional<ArrowColumn> column_at(const ArrowColumns& known, int64_t child) {
    std::optional<ArrowColumn> found;
    bool has_others = false;
    for (const ArrowColumn& column : known.columns) {
      if (column.place.steps.front().child != static_cast<size_t>(child)) continue;
      if (column.is_of_file) return column;
      has_others = has_others || found;
      found = column;
    }
    return has_others ? std::nullopt : found;
  }

  void take(size_t number, const ArrowSchema& schema, std::optional<ArrowColumn> column,
            std::vector<int64_t> shape) {
    const Field& field = fields.fields[number];
    // A struct is taken as a file alone.
    const bool is_taken = column &&
                          (column->is_of_file || std::string_view(schema.format) != "+s") &&
                          takes_format(leaf_format(schema, column->place)) &&
                          takes_column(field, *column, !shape.empty());
    if (!is_taken) {
      throw column_error(
          field.name,
          fmt::format("the column '{}' of Arrow type '{}' does not fit a field of type {}",
                      field.name, schema.format, type_of(field)));
    }
    const DType dtype = column->column.field.dtype;
    column->column.field = field;
    column->column.field.dtype = dtype;
    columns.push_back({.field = number, .from = *std::move(column), .shape = std::move(shape)});
  }

  void check(const ArrowArray& batch) const {
    if (has_nulls(batch)) throw Error(ErrorCode::unsupported, "a row of the table is null");
    for (const TakenColumn& column : columns) {
      const ArrowPlace& place = column.from.place;
      const std::vector<const ArrowArray*> arrays = arrays_of(batch, place);
      const auto refuse = [&](const char* what) {
        const std::string& name = fields.fields[column.field].name;
        throw column_error(name, fmt::format("the column '{}' {}", name, what));
      };
      if (has_nulls_inside(place, batch)) refuse("has lists with nulls in them");
      if (const ArrowArray* dictionary = arrays.back()->dictionary;
          dictionary != nullptr && has_nulls(*dictionary)) {
        refuse("has a dictionary with a null in it");
      }
      if (column.from.is_of_file && place.depth == 0 &&
          has_file_without_bytes(**(arrays.end() - 2), place.steps.back().child)) {
        refuse("has files without their bytes");
      }
    }
  }

  // About what a row holds: its texts and bytes, and its share of the lists.
  int64_t row_bytes(const ArrowArray& batch, int64_t row) const {
    constexpr int64_t kFieldBytes = 32;
    int64_t num_bytes = kFieldBytes * std::ssize(columns);
    for (const TakenColumn& column : columns) {
      const ArrowPlace& place = column.from.place;
      if (place.depth > 0) {
        const ArrowArray& leaf = *arrays_of(batch, place).back();
        num_bytes += leaf.length / std::max<int64_t>(batch.length, 1) *
                     static_cast<int64_t>(size_of(column.from.column.field.dtype));
      } else if (place.leaf == ArrowLeaf::bytes || place.leaf == ArrowLeaf::text) {
        SampleBuffers none;
        RowValue value;
        read_arrow_value(column.from, place, batch, row, value, none, ArrowBytes::in_place);
        num_bytes += std::ssize(value.bytes);
      }
    }
    return num_bytes;
  }

  void set_sample(const ArrowArray& batch, int64_t row, RecordBuilder& record,
                  SampleBuffers& buffers) const {
    std::string_view id;
    if (id_column) {
      RowValue value;
      const ArrowColumn& from = columns[*id_column].from;
      read_arrow_value(from, from.place, batch, row, value, buffers, ArrowBytes::in_place);
      id = row_text(value.bytes);
    }
    for (const TakenColumn& column : columns) {
      const Field& field = fields.fields[column.field];
      const auto set = [&] {
        RowValue value;
        read_arrow_value(column.from, column.from.place, batch, row, value, buffers,
                         ArrowBytes::in_place);
        if (!value.is_null) set_value(column, field, value, id, record, buffers);
      };
      in_column(field.name, set, "field");
    }
  }

  void set_value(const TakenColumn& column, const Field& field, RowValue& value,
                 std::string_view id, RecordBuilder& record, SampleBuffers& buffers) const {
    const auto picture = [&](std::span<const std::byte> image) {
      return storer.store(in_mode(column.from.column.mode, image, buffers), id, buffers, field.name)
          .bytes;
    };
    switch (field.type) {
      case FieldType::string:
        require_utf8(value.bytes);
        return record.set_string(column.field, row_text(value.bytes));
      case FieldType::bytes:
        return record.set_bytes(column.field, value.bytes);
      case FieldType::image:
        return record.set_bytes(column.field, picture(value.bytes));
      case FieldType::scalar:
        return record.set_scalar_bits(
            column.field, field.dtype,
            converted_bits(value.bits, column.from.column.field.dtype, field.dtype));
      case FieldType::tensor:
        if (!column.shape.empty()) {
          give_shape(column.shape, value.tensor);
        } else {
          cut_at_empty(value.tensor.shape);
        }
        return record.set_tensor(column.field, value.tensor);
      case FieldType::list:
        break;
    }
    if (field.item == FieldType::tensor) {
      return record.set_list(column.field, std::span<const TensorView>(value.tensors));
    }
    if (field.item == FieldType::string) {
      const std::vector<std::string_view> texts = row_texts(value.items);
      return record.set_list(column.field, std::span<const std::string_view>(texts));
    }
    if (field.item == FieldType::image) {
      for (std::span<const std::byte>& item : value.items) item = picture(item);
    }
    record.set_list(column.field, std::span<const std::span<const std::byte>>(value.items));
  }

  static void give_shape(const std::vector<int64_t>& shape, TensorView& tensor) {
    const int64_t num_items =
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    if (num_items * static_cast<int64_t>(size_of(tensor.dtype)) != std::ssize(tensor.data)) {
      throw error_of(ErrorCode::invalid_argument, "has {} elements, but its shape is [{}]",
                     tensor.data.size() / size_of(tensor.dtype), fmt::join(shape, ", "));
    }
    tensor.shape = shape;
  }

  const Schema fields;
  const ImageStorer storer;
  std::vector<TakenColumn> columns;
  std::optional<size_t> id_column;  // of these
};

ArrowSamples::ArrowSamples(Schema fields, const ArrowSchema& table, const ImageStorage& images,
                           const std::map<std::string, std::vector<int64_t>>& shapes) {
  auto impl = std::make_shared<Impl>(std::move(fields), images);
  impl->take_columns(table, shapes);
  impl_ = std::move(impl);
}

void ArrowSamples::check(const ArrowArray& batch) const {
  impl_->check(batch);
}

void ArrowSamples::write(ArrowOwner<ArrowArray> batch, const Write& write) const {
  const auto rows = std::make_shared<const ArrowOwner<ArrowArray>>(std::move(batch));
  const ArrowArray& array = *rows->get();
  for (int64_t row = 0; row < array.length; ++row) {
    write(
        [impl = impl_, rows, row](RecordBuilder& record, SampleBuffers& buffers) {
          impl->set_sample(*rows->get(), row, record, buffers);
        },
        impl_->row_bytes(array, row));
  }
}

}  // namespace ffkit
