// Whole numbers from JSON that somebody else may have written: nlohmann's get<>() cuts off what
// does not fit, and casting a large floating-point number is undefined.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

namespace ffkit {

// The member `key`, which must be a whole number from 0 to T's largest. Throws Error(corrupt)
// without a path, or nlohmann's exceptions.
template <typename T>
T count_at(const nlohmann::json& object, const char* key) {
  const auto& value = object.at(key);
  if (!value.is_number_unsigned() || !std::in_range<T>(value.get<uint64_t>())) {
    throw Error(ErrorCode::corrupt, fmt::format("{} is {}, not a whole number from 0 to {}", key,
                                                value.dump(), std::numeric_limits<T>::max()));
  }
  return static_cast<T>(value.get<uint64_t>());
}

}  // namespace ffkit
