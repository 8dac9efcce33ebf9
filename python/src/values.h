// Schemas, numbers and fields of records as Python's objects.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

namespace nb = nanobind;

namespace ffkit::python {

// A field as ffkit.Field takes it: (name, type, dtype or None, column, item or None).
nb::tuple field_to_python(const Field& field);
// A list of those.
nb::list schema_to_python(const Schema& schema);
// The inverse, of any sequence of such tuples. Throws Error for what no schema can be.
Schema schema_from_python(nb::handle fields);

// For signatures: typing.Any, where nb::object is written `object`.
inline nb::any any_of(nb::object value) {
  return nb::steal<nb::any>(value.release());
}

// bf16 included, which numpy has not: as u16 for it.
nb::dlpack::dtype dlpack_dtype(DType dtype);
nb::dlpack::dtype numpy_dtype(DType dtype);

// Text that should be UTF-8; what is not becomes surrogates, as in Python's file names.
nb::str text_to_python(std::string_view text);
// A numpy array of `data`, which `owner` keeps alive: writable, row-major.
nb::object numpy_array(void* data, std::span<const int64_t> shape, DType dtype, nb::handle owner);
// A numpy array of its own.
template <typename T>
nb::object numpy_vector(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const int64_t size = std::ssize(*owned);
  return numpy_array(owned->data(), {&size, 1}, dtype_of<T>(), owner);
}

// A value of a record: int, float, str, bytes, numpy.ndarray, list of those, or None for null.
// Pictures are encoded bytes; one in the dct code is the JPEG that it was. Copies.
nb::object value_to_python(const Field& field, const FieldView& value);

}  // namespace ffkit::python
