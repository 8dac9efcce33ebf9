// Options as attributes of Python's objects (the dataclasses of python/ffkit) and as dicts. A value
// of the wrong type is a TypeError that names it.
#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

namespace nb = nanobind;

namespace ffkit::python {

template <typename T>
T cast_value(nb::handle value, const std::string& name) {
  T result;
  if (nb::try_cast<T>(value, result)) return result;
  throw nb::type_error(fmt::format("{} is {}, which has the wrong type", name,
                                   nb::cast<std::string>(nb::repr(value)))
                           .c_str());
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
  if (!nb::isinstance<nb::sequence>(value) || nb::len(value) != 2) {
    throw nb::type_error(
        fmt::format("{} is {}, expected two numbers", name, nb::cast<std::string>(nb::repr(value)))
            .c_str());
  }
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
