#include "values.h"

#include <cstring>
#include <memory>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/image/dct_picture.h>

namespace ffkit::python {
namespace {

nb::object bytes_to_python(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

nb::object picture_to_python(std::span<const std::byte> bytes) {
  return is_dct_picture(bytes) ? bytes_to_python(decode_dct_to_jpeg(bytes))
                               : bytes_to_python(bytes);
}

// numpy has no bfloat16 of its own; ml_dtypes, which JAX brings, gives it one.
nb::object as_bfloat16(nb::object array) {
  return array.attr("view")(nb::module_::import_("ffkit._batch").attr("bfloat16")());
}

nb::object tensor_to_python(const TensorView& tensor) {
  const nb::capsule copy = copied_bytes(tensor.data.data(), tensor.data.size());
  nb::object array = numpy_array(copy.data(), tensor.shape, tensor.dtype, copy);
  return tensor.dtype == DType::bf16 ? as_bfloat16(std::move(array)) : array;
}

nb::object scalar_to_python(const Field& field, const FieldView& value) {
  const uint64_t bits = value.scalar_bits(field.dtype);
  return visit_dtype(field.dtype, [&](auto type) -> nb::object {
    using T = typename decltype(type)::type;
    const T number = load_number<T>(reinterpret_cast<const std::byte*>(&bits));
    if constexpr (std::is_integral_v<T>) {
      return nb::int_(number);
    } else {
      return nb::float_(static_cast<double>(number));
    }
  });
}

nb::object list_to_python(const Field& field, const ListView& list) {
  nb::list items;
  for (size_t i = 0; i < list.size(); ++i) {
    switch (field.item) {
      case FieldType::string:
        items.append(text_to_python(list.string(i)));
        break;
      case FieldType::tensor:
        items.append(tensor_to_python(list.tensor(i)));
        break;
      case FieldType::image:
        items.append(picture_to_python(list.bytes(i)));
        break;
      default:
        items.append(bytes_to_python(list.bytes(i)));
    }
  }
  return items;
}

}  // namespace

nb::tuple field_to_python(const Field& field) {
  const auto name = [](std::string_view text) { return nb::str(text.data(), text.size()); };
  const bool is_list = field.type == FieldType::list;
  return nb::make_tuple(field.name, name(to_string(field.type)),
                        has_dtype(field) ? nb::object(name(to_string(field.dtype))) : nb::none(),
                        field.column,
                        is_list ? nb::object(name(to_string(field.item))) : nb::none());
}

nb::list schema_to_python(const Schema& schema) {
  nb::list fields;
  for (const Field& field : schema.fields) fields.append(field_to_python(field));
  return fields;
}

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto code = visit_dtype(dtype, [](auto type) {
    using T = typename decltype(type)::type;
    if (std::is_same_v<T, BFloat16>) return Code::Bfloat;
    if (!std::is_integral_v<T>) return Code::Float;
    return std::is_unsigned_v<T> ? Code::UInt : Code::Int;
  });
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * size_of(dtype)), 1};
}

nb::dlpack::dtype numpy_dtype(DType dtype) {
  return dlpack_dtype(dtype == DType::bf16 ? DType::u16 : dtype);
}

nb::str text_to_python(std::string_view text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

nb::capsule copied_bytes(const void* data, size_t num_bytes) {
  auto copy = std::make_unique<std::byte[]>(num_bytes);
  if (num_bytes > 0) std::memcpy(copy.get(), data, num_bytes);
  return {copy.release(), [](void* p) noexcept { delete[] static_cast<std::byte*>(p); }};
}

nb::object numpy_array(void* data, std::span<const int64_t> shape, DType dtype, nb::handle owner) {
  const std::vector<size_t> extents(shape.begin(), shape.end());
  return nb::cast(nb::ndarray<nb::numpy>(data, extents.size(), extents.data(), owner, nullptr,
                                         numpy_dtype(dtype)),
                  nb::rv_policy::reference);
}

nb::object value_to_python(const Field& field, const FieldView& value) {
  if (value.is_null()) return nb::none();
  switch (field.type) {
    case FieldType::string:
      return text_to_python(value.string());
    case FieldType::scalar:
      return scalar_to_python(field, value);
    case FieldType::tensor:
      return tensor_to_python(value.tensor());
    case FieldType::list:
      return list_to_python(field, value.list());
    case FieldType::image:
      return picture_to_python(value.bytes());
    case FieldType::bytes:
      break;
  }
  return bytes_to_python(value.bytes());
}

}  // namespace ffkit::python
