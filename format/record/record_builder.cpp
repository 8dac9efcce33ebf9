#include <ffkit/format/record.h>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "record/record_layout.h"

namespace ffkit {
namespace {

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

[[noreturn]] void not_a_tensor(const Field& field, const TensorView& tensor) {
  throw error_of(
      ErrorCode::invalid_argument,
      "the value of field '{}' has {} bytes, which do not fit a tensor of {} with the given shape",
      field.name, tensor.data.size(), to_string(field.dtype));
}

// A list's bytes; `append_item(i)` appends the bytes of item i to `out`.
template <typename AppendItem>
void encode_list(size_t num_items, std::vector<std::byte>& out, AppendItem append_item) {
  out.assign(8 + 8 * num_items, std::byte{0});
  store_le(out.data(), uint64_t{num_items});
  for (size_t i = 0; i < num_items; ++i) {
    out.resize(align8(out.size()));
    append_item(i);
    store_le(out.data() + 8 + 8 * i, uint64_t{out.size()});
  }
}

}  // namespace

RecordBuilder::RecordBuilder(const Schema& schema)
    : schema_(schema), values_(schema.fields.size()) {}

RecordBuilder::Value& RecordBuilder::slot(size_t field, FieldType a, FieldType b) {
  require_field(field, values_.size());
  const FieldType type = schema_.fields[field].type;
  if (type != a && type != b) throw_wrong_type(schema_.fields[field], to_string(a));
  Value& value = values_[field];
  value.is_set = true;
  value.has_scalar_bits = false;
  value.head.clear();
  value.data = {};
  return value;
}

RecordBuilder::Value& RecordBuilder::list_slot(size_t field, FieldType a, FieldType b) {
  Value& value = slot(field, FieldType::list, FieldType::list);
  const Field& described = schema_.fields[field];
  if (described.item != a && described.item != b) {
    value.is_set = false;
    throw error_of(ErrorCode::invalid_argument, "field '{}' is a list of {}, not of {}",
                   described.name, to_string(described.item), to_string(a));
  }
  return value;
}

void RecordBuilder::set_bytes(size_t field, std::span<const std::byte> value) {
  slot(field, FieldType::bytes, FieldType::image).data = value;
}

void RecordBuilder::set_string(size_t field, std::string_view value) {
  slot(field, FieldType::string, FieldType::string).data = std::as_bytes(std::span(value));
}

void RecordBuilder::set_scalar_bits(size_t field, DType dtype, uint64_t bits) {
  Value& value = slot(field, FieldType::scalar, FieldType::scalar);
  const Field& described = schema_.fields[field];
  if (described.dtype != dtype) {
    value.is_set = false;
    throw error_of(ErrorCode::invalid_argument, "field '{}' is a scalar of type {}, not {}",
                   described.name, to_string(described.dtype), to_string(dtype));
  }
  value.scalar_bits = bits;
  value.has_scalar_bits = true;
}

void RecordBuilder::set_tensor(size_t field, const TensorView& tensor) {
  Value& value = slot(field, FieldType::tensor, FieldType::tensor);
  const auto header = tensor_header(tensor);
  if (!header || tensor.dtype != schema_.fields[field].dtype) {
    value.is_set = false;
    not_a_tensor(schema_.fields[field], tensor);
  }
  value.head = *header;
  value.data = tensor.data;
}

void RecordBuilder::set_list(size_t field, std::span<const std::span<const std::byte>> items) {
  Value& value = list_slot(field, FieldType::bytes, FieldType::image);
  encode_list(items.size(), value.head, [&](size_t i) { append(value.head, items[i]); });
}

void RecordBuilder::set_list(size_t field, std::span<const std::string_view> items) {
  Value& value = list_slot(field, FieldType::string, FieldType::string);
  encode_list(items.size(), value.head,
              [&](size_t i) { append(value.head, std::as_bytes(std::span(items[i]))); });
}

void RecordBuilder::set_list(size_t field, std::span<const TensorView> items) {
  Value& value = list_slot(field, FieldType::tensor, FieldType::tensor);
  encode_list(items.size(), value.head, [&](size_t i) {
    const auto header = tensor_header(items[i]);
    if (!header || items[i].dtype != schema_.fields[field].dtype) {
      value.is_set = false;
      not_a_tensor(schema_.fields[field], items[i]);
    }
    append(value.head, *header);
    append(value.head, items[i].data);
  });
}

void RecordBuilder::set_raw(size_t field, const FieldView& view) {
  require_field(field, values_.size());
  Value& value = slot(field, schema_.fields[field].type, schema_.fields[field].type);
  value.is_set = !view.is_null();
  value.data = view.raw();
}

void RecordBuilder::encode(std::vector<std::byte>& out) try {
  const size_t num_fields = values_.size();
  out.assign(table_bytes(num_fields), std::byte{0});
  for (size_t i = 0; i < num_fields; ++i) {
    Value& value = values_[i];
    out.resize(align8(out.size()));
    const size_t begin = out.size();
    if (value.is_set && value.has_scalar_bits) {
      append(
          out,
          std::as_bytes(std::span(&value.scalar_bits, 1)).first(size_of(schema_.fields[i].dtype)));
    } else if (value.is_set) {
      append(out, value.head);
      append(out, value.data);
    }
    const FieldPlace place{.begin = begin, .end = out.size(), .is_null = !value.is_set};
    store_le(out.data() + 8 * i, place.end | (place.is_null ? kNullBit : 0));
    store_le(out.data() + 8 * num_fields + 4 * i, field_crc(place, std::span(out).subspan(begin)));
    value.is_set = false;
    value.has_scalar_bits = false;
    value.head.clear();
    value.data = {};
  }
} catch (const std::bad_alloc&) {
  rethrow_as_error("", -1, kMoreMemory);
}

}  // namespace ffkit
