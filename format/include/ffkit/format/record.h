// Records: the bytes of one sample's fields, laid out as in FORMAT.md, "Record".
//
//   | u64 end[F] | field 0 | pad | field 1 | pad | ...     each field starts at a multiple of 8
//
// RecordBuilder makes them, RecordView reads them without copying. Neither may be shared between
// threads while modified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ffkit/format/schema.h>

namespace ffkit {

// The DType of a C++ number type.
template <typename T>
constexpr DType dtype_of() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8);
  if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? DType::f32 : DType::f64;
  } else {
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1:
        return is_signed ? DType::i8 : DType::u8;
      case 2:
        return is_signed ? DType::i16 : DType::u16;
      case 4:
        return is_signed ? DType::i32 : DType::u32;
      default:
        return is_signed ? DType::i64 : DType::u64;
    }
  }
}

// A tensor field: row-major numbers of the field's dtype. Points into the record it was read from.
struct TensorView {
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // product(shape) * size_of(dtype) bytes
};

// Collects the fields of one record. Fields that are not set are null.
class RecordBuilder {
 public:
  // `schema` must outlive the builder.
  explicit RecordBuilder(const Schema& schema);

  // Setters take the field's position in the schema and throw Error(invalid_argument) when its type
  // is another. The data is not copied until encode(): it must stay where it is until then.
  void set_bytes(size_t field, std::span<const std::byte> value);  // bytes and image fields
  void set_string(size_t field, std::string_view value);
  template <typename T>
  void set_scalar(size_t field, T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    set_scalar_bits(field, dtype_of<T>(), bits);
  }
  void set_tensor(size_t field, const TensorView& value);

  // Writes the record to `out` (replacing what it held) and clears the builder for the next one.
  void encode(std::vector<std::byte>& out);

 private:
  struct Value {
    bool is_set = false;
    uint64_t scalar_bits = 0;
    std::vector<std::byte> tensor_header;
    std::span<const std::byte> data;
  };
  Value& slot(size_t field, FieldType a, FieldType b);
  void set_scalar_bits(size_t field, DType dtype, uint64_t bits);

  const Schema& schema_;
  std::vector<Value> values_;
};

// Reads the fields of an encoded record. Does not own the bytes: spans and views live as long as
// those do.
class RecordView {
 public:
  // Checks the field table against the length of `record`; throws Error(corrupt) where it does not
  // fit. `schema` and `record` must outlive the view.
  RecordView(const Schema& schema, std::span<const std::byte> record);

  bool is_null(size_t field) const;
  // The bytes of a field of any type as stored; empty for null.
  std::span<const std::byte> raw(size_t field) const;
  // The getters throw Error(invalid_argument) when the field's type is another, Error(corrupt) when
  // its size is wrong and Error(not_found) when it is null.
  std::span<const std::byte> bytes(size_t field) const;  // bytes and image fields
  std::string_view string(size_t field) const;
  template <typename T>
  T scalar(size_t field) const {
    uint64_t bits = scalar_bits(field, dtype_of<T>());
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  TensorView tensor(size_t field) const;

 private:
  std::span<const std::byte> typed(size_t field, FieldType a, FieldType b) const;
  uint64_t scalar_bits(size_t field, DType dtype) const;

  const Schema& schema_;
  std::span<const std::byte> record_;
};

}  // namespace ffkit
