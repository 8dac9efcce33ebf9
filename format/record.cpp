#include <fmt/format.h>

#include <ffkit/format/error.h>
#include <ffkit/format/record.h>

#include "little_endian.h"

namespace ffkit {
namespace {

constexpr uint64_t kNullBit = 1ULL << 63;
constexpr uint32_t kMaxDimensions = 32;

constexpr uint64_t align8(uint64_t n) {
  return (n + 7) & ~uint64_t{7};
}

[[noreturn]] void wrong_type(const Field& field, std::string_view wanted) {
  throw Error(ErrorCode::invalid_argument, fmt::format("field '{}' is of type {}, not {}",
                                                       field.name, to_string(field.type), wanted));
}

// Number of elements of `shape`; nullopt-like -1 when it overflows or a size is negative.
int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

}  // namespace

RecordBuilder::RecordBuilder(const Schema& schema)
    : schema_(schema), values_(schema.fields.size()) {}

RecordBuilder::Value& RecordBuilder::slot(size_t field, FieldType a, FieldType b) {
  if (field >= values_.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field {} is out of range: the schema has {}", field, values_.size()));
  }
  const FieldType type = schema_.fields[field].type;
  if (type != a && type != b) wrong_type(schema_.fields[field], to_string(a));
  values_[field].is_set = true;
  return values_[field];
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
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}' is a scalar {}, not {}", described.name,
                            to_string(described.dtype), to_string(dtype)));
  }
  value.scalar_bits = bits;
}

void RecordBuilder::set_tensor(size_t field, const TensorView& tensor) {
  Value& value = slot(field, FieldType::tensor, FieldType::tensor);
  const Field& described = schema_.fields[field];
  const int64_t count = element_count(tensor.shape);
  if (tensor.dtype != described.dtype || tensor.shape.size() > kMaxDimensions || count < 0 ||
      static_cast<uint64_t>(count) > tensor.data.size() ||
      static_cast<uint64_t>(count) * size_of(tensor.dtype) != tensor.data.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}': {} bytes do not make a tensor {} of the given shape",
                            described.name, tensor.data.size(), to_string(described.dtype)));
  }
  value.tensor_header.resize(8 + 8 * tensor.shape.size());
  store_le(value.tensor_header.data(), static_cast<uint32_t>(tensor.shape.size()));
  store_le(value.tensor_header.data() + 4, uint32_t{0});
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    store_le(value.tensor_header.data() + 8 + 8 * d, static_cast<uint64_t>(tensor.shape[d]));
  }
  value.data = tensor.data;
}

void RecordBuilder::encode(std::vector<std::byte>& out) {
  out.assign(8 * values_.size(), std::byte{0});
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& value = values_[i];
    const Field& field = schema_.fields[i];
    out.resize(align8(out.size()));
    if (value.is_set && field.type == FieldType::scalar) {
      const auto* bits = reinterpret_cast<const std::byte*>(&value.scalar_bits);
      out.insert(out.end(), bits, bits + size_of(field.dtype));
    } else if (value.is_set) {
      out.insert(out.end(), value.tensor_header.begin(), value.tensor_header.end());
      out.insert(out.end(), value.data.begin(), value.data.end());
    }
    store_le(out.data() + 8 * i, out.size() | (value.is_set ? 0 : kNullBit));
    value.is_set = false;
    value.tensor_header.clear();
    value.data = {};
  }
}

RecordView::RecordView(const Schema& schema, std::span<const std::byte> record)
    : schema_(schema), record_(record) {
  const size_t num_fields = schema.fields.size();
  uint64_t end = 8 * num_fields;
  if (record.size() < end) {
    throw Error(ErrorCode::corrupt,
                fmt::format("a record of {} bytes is too short for the table of {} fields",
                            record.size(), num_fields));
  }
  for (size_t i = 0; i < num_fields; ++i) {
    const uint64_t begin = align8(end);
    const auto stored = load_le<uint64_t>(record.data() + 8 * i);
    end = stored & ~kNullBit;
    if (end < begin || end > record.size() || ((stored & kNullBit) != 0 && end != begin)) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' ends at byte {} of a record of {} bytes",
                              schema.fields[i].name, end, record.size()));
    }
  }
  if (end != record.size()) {
    throw Error(
        ErrorCode::corrupt,
        fmt::format("the last field ends at byte {} of a record of {} bytes", end, record.size()));
  }
}

bool RecordView::is_null(size_t field) const {
  return (load_le<uint64_t>(record_.data() + 8 * field) & kNullBit) != 0;
}

std::span<const std::byte> RecordView::raw(size_t field) const {
  const uint64_t previous = field == 0
                                ? 8 * schema_.fields.size()
                                : load_le<uint64_t>(record_.data() + 8 * (field - 1)) & ~kNullBit;
  const uint64_t end = load_le<uint64_t>(record_.data() + 8 * field) & ~kNullBit;
  const uint64_t begin = align8(previous);
  return record_.subspan(begin, end - begin);
}

std::span<const std::byte> RecordView::typed(size_t field, FieldType a, FieldType b) const {
  if (field >= schema_.fields.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("field {} is out of range: the schema has {}", field, schema_.fields.size()));
  }
  const Field& described = schema_.fields[field];
  if (described.type != a && described.type != b) wrong_type(described, to_string(a));
  if (is_null(field)) {
    throw Error(ErrorCode::not_found,
                fmt::format("field '{}' is null in this record", described.name));
  }
  return raw(field);
}

std::span<const std::byte> RecordView::bytes(size_t field) const {
  return typed(field, FieldType::bytes, FieldType::image);
}

std::string_view RecordView::string(size_t field) const {
  const auto data = typed(field, FieldType::string, FieldType::string);
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

uint64_t RecordView::scalar_bits(size_t field, DType dtype) const {
  const auto data = typed(field, FieldType::scalar, FieldType::scalar);
  const Field& described = schema_.fields[field];
  if (described.dtype != dtype) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}' is a scalar {}, not {}", described.name,
                            to_string(described.dtype), to_string(dtype)));
  }
  if (data.size() != size_of(dtype)) {
    throw Error(ErrorCode::corrupt,
                fmt::format("field '{}' has {} bytes, but a {} has {}", described.name, data.size(),
                            to_string(dtype), size_of(dtype)));
  }
  uint64_t bits = 0;
  std::memcpy(&bits, data.data(), data.size());
  return bits;
}

TensorView RecordView::tensor(size_t field) const {
  const auto data = typed(field, FieldType::tensor, FieldType::tensor);
  const Field& described = schema_.fields[field];
  TensorView view{.dtype = described.dtype};
  const uint32_t num_dimensions =
      data.size() < 8 ? kMaxDimensions + 1 : load_le<uint32_t>(data.data());
  if (num_dimensions <= kMaxDimensions && data.size() >= 8 + 8 * size_t{num_dimensions}) {
    for (uint32_t d = 0; d < num_dimensions; ++d) {
      view.shape.push_back(load_le<int64_t>(data.data() + 8 + 8 * size_t{d}));
    }
    view.data = data.subspan(8 + 8 * size_t{num_dimensions});
    const int64_t count = element_count(view.shape);
    if (count >= 0 && static_cast<uint64_t>(count) <= view.data.size() &&
        static_cast<uint64_t>(count) * size_of(view.dtype) == view.data.size()) {
      return view;
    }
  }
  throw Error(ErrorCode::corrupt,
              fmt::format("field '{}': {} bytes are not a tensor of {}", described.name,
                          data.size(), to_string(described.dtype)));
}

}  // namespace ffkit
