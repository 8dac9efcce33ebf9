// Numbers in JSON documents that simdjson has parsed. All throw Error(invalid_argument) without a
// path: callers know where they read.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/make_error.h"

namespace ffkit {

// The beginning of `value` as JSON, for messages.
inline std::string json_excerpt(simdjson::dom::element value) {
  constexpr size_t kMaxBytes = 60;
  // parse_as_python() takes NaN and infinities for null.
  if (value.is_null()) return "null (or NaN or infinity)";
  std::string text = simdjson::minify(value);
  if (text.size() > kMaxBytes) text.replace(kMaxBytes, std::string::npos, "...");
  return text;
}

// `value` as a T; real types take numbers that they have room for, integer types only integers in
// their range.
template <typename T>
T json_number(simdjson::dom::element value) {
  if constexpr (std::is_floating_point_v<T>) {
    double number = 0;
    if (value.get_double().get(number) != simdjson::SUCCESS) {
      throw error_of(ErrorCode::invalid_argument, "{} is not a number", json_excerpt(value));
    }
    // It would become an infinity.
    if (std::abs(number) > double{std::numeric_limits<T>::max()}) {
      throw error_of(ErrorCode::invalid_argument, "the number {} is outside the range of f{}",
                     number, 8 * sizeof(T));
    }
    return static_cast<T>(number);
  } else {
    int64_t number = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS) {
      throw error_of(ErrorCode::invalid_argument, "{} is not an integer", json_excerpt(value));
    }
    if (number < int64_t{std::numeric_limits<T>::min()} ||
        number > int64_t{std::numeric_limits<T>::max()}) {
      throw error_of(ErrorCode::invalid_argument, "the number {} is not between {} and {}", number,
                     std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    }
    return static_cast<T>(number);
  }
}

// `value` as an integer; takes reals without a fraction too, 500.0, which Python holds equal.
inline int64_t json_whole_number(simdjson::dom::element value) {
  double real = 0;
  // Within +-2^53, where each real stands for one integer. is_double() would be true of integers
  // too.
  if (value.type() == simdjson::dom::element_type::DOUBLE &&
      value.get_double().get(real) == simdjson::SUCCESS && std::abs(real) <= 0x1p53 &&
      std::trunc(real) == real) {
    return static_cast<int64_t>(real);
  }
  return json_number<int64_t>(value);
}

// The shape of an array of arrays ..., by its first elements: [[1, 2, 3], [4, 5, 6]] gives 2, 3.
// Empty for what is no array.
inline std::vector<int64_t> json_shape(simdjson::dom::element value) {
  std::vector<int64_t> shape;
  simdjson::dom::array array;
  while (value.get_array().get(array) == simdjson::SUCCESS) {
    // Not size(), which stops counting at 2^24.
    int64_t num_items = 0;
    for ([[maybe_unused]] const simdjson::dom::element item : array) ++num_items;
    shape.push_back(num_items);
    if (num_items == 0) break;
    value = *array.begin();
  }
  return shape;
}

// The numbers of a list of out.size() of them. What is no number, or beyond T, is NaN; so are all
// of another value.
template <typename T>
void numbers_or_nan(simdjson::dom::element value, std::span<T> out) {
  std::ranges::fill(out, std::numeric_limits<T>::quiet_NaN());
  simdjson::dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS || array.size() != out.size()) return;
  for (size_t i = 0; i < out.size(); ++i) {
    double number = 0;
    if (array.at(i).get_double().get(number) == simdjson::SUCCESS &&
        std::abs(number) <= std::numeric_limits<T>::max()) {
      out[i] = static_cast<T>(number);
    }
  }
}

// Appends the numbers of `value`, whose shape must be `shape`, to `out` in row-major order.
template <typename T>
void append_numbers(simdjson::dom::element value, std::span<const int64_t> shape,
                    std::vector<T>& out) {
  if (shape.empty()) {
    out.push_back(json_number<T>(value));
    return;
  }
  simdjson::dom::array array;
  int64_t num_items = -1;
  if (value.get_array().get(array) == simdjson::SUCCESS) {
    num_items = 0;
    for (const simdjson::dom::element item : array) {
      if (++num_items <= shape[0]) append_numbers(item, shape.subspan(1), out);
    }
  }
  if (num_items != shape[0]) {
    throw error_of(ErrorCode::invalid_argument, "{} is not an array of {} elements",
                   json_excerpt(value), shape[0]);
  }
}

}  // namespace ffkit
