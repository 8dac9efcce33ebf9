// Records: the bytes of one sample's fields, laid out as in FORMAT.md, "Records and alignment".
//
//   | u64 end[F] | u32 crc[F] | pad | field 0 | pad | field 1 | ...
//
// Each field starts at a multiple of 8.
//
//
// RecordBuilder makes records; RecordView and FieldView read them without copying. None of them may
// be shared between threads while one thread modifies it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
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

// Which record a view is of, for messages.
struct RecordName {
  const std::filesystem::path* file = nullptr;  // must outlive the views; null: unknown
  int64_t record = -1;                          // within the file
};

// A tensor field: row-major numbers of the field's dtype. Points into the record it was read from.
struct TensorView {
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // product(shape) * size_of(dtype) bytes
};

// The items of a list field. Points into the record it was read from.
class ListView {
 public:
  [[nodiscard]] size_t size() const noexcept { return items_.size(); }
  // Throw as the getters of FieldView do, and Error(invalid_argument) for i >= size().
  [[nodiscard]] std::span<const std::byte> bytes(size_t i) const;  // lists of bytes and images
  [[nodiscard]] std::string_view string(size_t i) const;
  [[nodiscard]] TensorView tensor(size_t i) const;

 private:
  friend class FieldView;
  std::span<const std::byte> item(size_t i, FieldType a, FieldType b) const;

  const Field* field_ = nullptr;
  std::vector<std::span<const std::byte>> items_;
  RecordName name_;
};

// One field of a record: its bytes and what they mean. Does not own the bytes, nor the Field.
class FieldView {
 public:
  // `raw` is what FORMAT.md's table of types says about `field`.
  FieldView(const Field& field, std::span<const std::byte> raw, bool is_null, RecordName name = {})
      : field_(&field), raw_(raw), is_null_(is_null), name_(name) {}

  [[nodiscard]] bool is_null() const noexcept { return is_null_; }
  [[nodiscard]] std::span<const std::byte> raw() const noexcept { return raw_; }
  // The getters throw Error(invalid_argument) if the field has another type, Error(corrupt) if its
  // size is wrong and Error(not_found) if it is null. The errors name the record.
  [[nodiscard]] std::span<const std::byte> bytes() const;  // bytes and image fields
  [[nodiscard]] std::string_view string() const;
  template <typename T>
  [[nodiscard]] T scalar() const {
    uint64_t bits = scalar_bits(dtype_of<T>());
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  // The bits of a scalar whose dtype must be `dtype`, in the low bytes.
  [[nodiscard]] uint64_t scalar_bits(DType dtype) const;
  [[nodiscard]] TensorView tensor() const;
  [[nodiscard]] ListView list() const;
  // Throws Error(corrupt) if the bytes do not match the field's type and dtype; pictures and texts
  // may have any bytes.
  void verify() const;

 private:
  std::span<const std::byte> typed(FieldType a, FieldType b) const;

  const Field* field_;
  std::span<const std::byte> raw_;
  bool is_null_;
  RecordName name_;
};

// Collects the fields of one record. Fields that are not set are null.
class RecordBuilder {
 public:
  // `schema` must outlive the builder.
  explicit RecordBuilder(const Schema& schema);

  // Setters take the field's position in the schema and throw Error(invalid_argument) for another
  // type. encode() copies the data, so it must stay valid until then. Lists are copied at once.
  void set_bytes(size_t field, std::span<const std::byte> value);  // bytes and image fields
  void set_string(size_t field, std::string_view value);
  template <typename T>
  void set_scalar(size_t field, T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    set_scalar_bits(field, dtype_of<T>(), bits);
  }
  // For dtypes that C++ has no type for: the number's bits, in the low bytes.
  void set_scalar_bits(size_t field, DType dtype, uint64_t bits);
  void set_tensor(size_t field, const TensorView& value);
  void set_list(size_t field,
                std::span<const std::span<const std::byte>> items);  // of bytes or images
  void set_list(size_t field, std::span<const std::string_view> items);
  void set_list(size_t field, std::span<const TensorView> items);
  // Copies a stored field of a record, also null; it must have the type of this field.
  void set_raw(size_t field, const FieldView& value);

  // Writes the record to `out` (replacing what it held) and clears the builder for the next one.
  void encode(std::vector<std::byte>& out);

 private:
  struct Value {
    bool is_set = false;
    uint64_t scalar_bits = 0;
    bool has_scalar_bits = false;
    std::vector<std::byte> head;  // bytes of its own, before `data`
    std::span<const std::byte> data;
  };
  Value& slot(size_t field, FieldType a, FieldType b);
  Value& list_slot(size_t field, FieldType a, FieldType b);

  const Schema& schema_;
  std::vector<Value> values_;
};

// How to read records of one schema as records of a wider one, for Dataset::chain(). A plain value.
struct FieldMapping {
  Schema stored;  // of the records
  // For each field of the wider schema its position in `stored`, or -1 if it is null in all
  // records.
  std::vector<int64_t> positions;
};

// Reads the fields of an encoded record. Does not own the bytes: spans and views live as long as
// those do.
class RecordView {
 public:
  // Checks the field table against the length of `record`; throws Error(corrupt) if it does not
  // fit. Does not check the fields' checksums, because the record's checksum covers them. Errors
  // name the record by `name`. With `mapping`, the record has the schema mapping->stored and is
  // read as one of `schema`; null: it has `schema`. `schema`, `record`, `mapping` and `readable`
  // must outlive the view. `readable`, by field of `schema`: field() refuses the others, whose
  // bytes may be missing in `record`; null: all are there.
  RecordView(const Schema& schema, std::span<const std::byte> record, RecordName name = {},
             const FieldMapping* mapping = nullptr, const std::vector<bool>* readable = nullptr);

  // Throws Error(invalid_argument) when out of range, or not readable.
  [[nodiscard]] FieldView field(size_t field) const;
  // Throws Error(corrupt) if the checksum of a field is wrong, or its bytes do not match its type.
  void verify_fields() const;
  // Throws Error(corrupt) if the checksum of a readable field is wrong.
  void verify_readable() const;

  // Shorthands for field(i)'s functions of the same names.
  [[nodiscard]] bool is_null(size_t i) const { return field(i).is_null(); }
  [[nodiscard]] std::span<const std::byte> raw(size_t i) const { return field(i).raw(); }
  [[nodiscard]] std::span<const std::byte> bytes(size_t i) const { return field(i).bytes(); }
  [[nodiscard]] std::string_view string(size_t i) const { return field(i).string(); }
  template <typename T>
  [[nodiscard]] T scalar(size_t i) const {
    return field(i).scalar<T>();
  }
  [[nodiscard]] TensorView tensor(size_t i) const { return field(i).tensor(); }
  [[nodiscard]] ListView list(size_t i) const { return field(i).list(); }

 private:
  const Schema& stored() const { return mapping_ == nullptr ? schema_ : mapping_->stored; }
  FieldView stored_field(const Field& field, size_t position) const;
  // Of a field of `schema_` in the stored record; -1: it has none.
  int64_t position_of(size_t field) const;
  void verify_checksum(size_t position) const;

  const Schema& schema_;
  std::span<const std::byte> record_;
  RecordName name_;
  const FieldMapping* mapping_;
  const std::vector<bool>* readable_;
};

}  // namespace ffkit
