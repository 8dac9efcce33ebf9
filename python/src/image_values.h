// Values of options of pictures: sizes, colours, ranges.
#pragma once

#include <array>
#include <string>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/interpolation.h>
#include <ffkit/image/rgb_image.h>

#include "python_value.h"

namespace ffkit::python {

inline bool is_number(nb::handle value) {
  return PyNumber_Check(value.ptr()) != 0 && !nb::isinstance<nb::sequence>(value);
}

inline ImageSize get_size(nb::handle object, const char* name) {
  if (is_number(object.attr(name))) return get<int64_t>(object, name);
  const auto [height, width] = get_pair<int64_t>(object, name);
  return {height, width};
}

inline Interpolation get_interpolation(nb::handle object) {
  return get_name(object, "interpolation",
                  [](const auto& name) { return parse_interpolation(name); });
}

template <typename T, size_t N>
std::array<T, N> get_array(nb::handle object, const char* name) {
  const nb::object value = object.attr(name);
  const std::string full = class_of(object) + "." + name;
  std::array<T, N> values;
  if (is_number(value)) {
    values.fill(cast_value<T>(value, full));
    return values;
  }
  if (!nb::isinstance<nb::sequence>(value) || nb::len(value) != N) {
    throw nb::type_error(fmt::format("{} is {}, expected {} numbers", full,
                                     nb::cast<std::string>(nb::repr(value)), N)
                             .c_str());
  }
  for (size_t i = 0; i < N; ++i) values[i] = cast_value<T>(value[i], full);
  return values;
}

inline Padding get_padding(nb::handle object) {
  const auto [left, top, right, bottom] = get_array<int64_t, 4>(object, "padding");
  return {left, top, right, bottom};
}

// Of a number s, or (low, high).
template <typename Range>
Range get_range(nb::handle object, const char* name) {
  if (is_number(object.attr(name))) return get<double>(object, name);
  const auto [low, high] = get_pair<double>(object, name);
  return {low, high};
}

inline RgbColor get_fill(nb::handle object) {
  return get_array<uint8_t, 3>(object, "fill");
}

}  // namespace ffkit::python
