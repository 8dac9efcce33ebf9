// Schemas, numbers and fields of records as Python's objects.
#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

namespace nb = nanobind;

namespace ffkit::python {

// A field as ffkit.Field takes it: (name, type, dtype or None, column, item or None).
nb::tuple field_to_python(const Field& field);
// A list of those.
nb::list schema_to_python(const Schema& schema);

// For signatures: typing.Any, where nb::object is written `object`.
inline nb::any any_of(nb::object value) {
  return nb::steal<nb::any>(value.release());
}

// bf16 included, which numpy has not: as u16 for it.
nb::dlpack::dtype dlpack_dtype(DType dtype);
nb::dlpack::dtype numpy_dtype(DType dtype);

// Text that should be UTF-8; what is not becomes surrogates, as in Python's file names.
nb::str text_to_python(std::string_view text);
template <typename Texts>
nb::typed<nb::list, nb::str> texts_to_python(const Texts& texts) {
  nb::list list;
  for (const std::string_view text : texts) list.append(text_to_python(text));
  return list;
}
// Owns a copy, its data().
nb::capsule copied_bytes(const void* data, size_t num_bytes);
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

// What messages call an object.
inline std::string repr_of(nb::handle object) {
  return nb::cast<std::string>(nb::repr(object));
}

// A TypeError with a formatted message.
template <typename... Args>
auto type_error_of(fmt::format_string<Args...> message, Args&&... args) {
  return nb::type_error(fmt::format(message, std::forward<Args>(args)...).c_str());
}

// Options as attributes of Python's objects (the dataclasses of python/ffkit) and as dicts. A value
// of the wrong type is a TypeError that names it.
template <typename T>
T cast_value(nb::handle value, const std::string& name) {
  T result;
  if (nb::try_cast<T>(value, result)) return result;
  throw type_error_of("{} is {}, which has the wrong type", name, repr_of(value));
}

inline std::string class_of(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

// object.name
template <typename T>
T get(nb::handle object, const char* name) {
  return cast_value<T>(object.attr(name), class_of(object) + "." + name);
}

// (a, b)
template <typename T>
std::pair<T, T> cast_pair(nb::handle value, const std::string& name) {
  if (!nb::isinstance<nb::sequence>(value) || nb::len(value) != 2)
    throw type_error_of("{} is {}, expected two numbers", name, repr_of(value));
  return {cast_value<T>(value[0], name), cast_value<T>(value[1], name)};
}

// (a, b) of object.name
template <typename T>
std::pair<T, T> get_pair(nb::handle object, const char* name) {
  return cast_pair<T>(object.attr(name), class_of(object) + "." + name);
}

// One of the names of an enumeration, which `parse` makes of them: (const std::string&) -> T,
// throwing Error.
template <typename Parse>
auto get_name(nb::handle object, const char* name, const Parse& parse) {
  return parse(get<std::string>(object, name));
}

}  // namespace ffkit::python
