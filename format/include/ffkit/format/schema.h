// Schema: the names and types of the fields that every record of a data set has. A plain value;
// copies are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>

namespace ffkit {

// Element types of scalars and tensors; all little-endian. f16 is IEEE binary16, bf16 is bfloat16.
enum class DType : uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };
// As written in FORMAT.md and in manifests.
template <>
inline constexpr auto kNames<DType> = enum_names<DType>("dtype", {{DType::u8, "u8"},
                                                                  {DType::i8, "i8"},
                                                                  {DType::u16, "u16"},
                                                                  {DType::i16, "i16"},
                                                                  {DType::u32, "u32"},
                                                                  {DType::i32, "i32"},
                                                                  {DType::u64, "u64"},
                                                                  {DType::i64, "i64"},
                                                                  {DType::f16, "f16"},
                                                                  {DType::bf16, "bf16"},
                                                                  {DType::f32, "f32"},
                                                                  {DType::f64, "f64"}});

// Size of one element in bytes: 1, 2, 4 or 8.
size_t size_of(DType dtype);

enum class FieldType : uint8_t {
  bytes,   // opaque bytes
  string,  // UTF-8 text
  scalar,  // one number of Field::dtype
  tensor,  // numbers of Field::dtype with a shape of their own in every record
  image,   // an encoded image file (JPEG, PNG, ...) as bytes
  list,    // any number of items of type Field::item
};
template <>
inline constexpr auto kNames<FieldType> = enum_names<FieldType>("field type",
                                                                {{FieldType::bytes, "bytes"},
                                                                 {FieldType::string, "string"},
                                                                 {FieldType::scalar, "scalar"},
                                                                 {FieldType::tensor, "tensor"},
                                                                 {FieldType::image, "image"},
                                                                 {FieldType::list, "list"}});

struct Field {
  std::string name;  // not empty, unique in the schema; "/" groups fields, e.g. "cam_front/image"
  FieldType type = FieldType::bytes;
  DType dtype = DType::u8;  // of scalar and tensor fields; ignored for the others
  bool column = false;      // scalar and string fields only: also kept as a column in the index
  FieldType item = FieldType::bytes;  // of list fields: bytes, string, image, or tensor of `dtype`

  bool operator==(const Field&) const = default;
};

// Whether `field` has numbers, and hence a dtype: scalars, tensors and lists of tensors.
bool has_dtype(const Field& field);

struct Schema {
  std::vector<Field> fields;

  // Position of the field called `name`, or -1.
  [[nodiscard]] int index_of(std::string_view name) const;
  // Position of the field called `name`; throws Error(not_found) that lists the fields.
  size_t require(std::string_view name) const;
  // One sentence on the first difference to `other`, empty when they are equal.
  [[nodiscard]] std::string difference(const Schema& other) const;

  bool operator==(const Schema&) const = default;
};

// Throws Error(invalid_argument) unless every name is present, unique and UTF-8, columns are
// scalars or strings, and lists have an item type that lists can hold.
void validate(const Schema& schema);

// "'label' scalar i64 with column".
std::string describe(const Field& field);

// The schema of image classification sets: image (image), label (scalar i64, column), id (string,
// column). `id` is the path of the picture in its source, e.g. "n01440764/n01440764_10026.JPEG".
Schema image_classification_schema();

}  // namespace ffkit
