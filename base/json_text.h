// JSON that somebody else may have written, and JSON whose texts somebody else gave. nlohmann's
// get<>() cuts off numbers that do not fit, casting a large floating-point number is undefined, and
// its dump() throws a type of its own for a text that is not UTF-8.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "make_error.h"
#include "printable.h"

namespace ffkit {

// The member `key`, which must be a whole number from 0 to T's largest. Throws Error(corrupt)
// without a path, or nlohmann's exceptions.
template <typename T>
T count_at(const nlohmann::json& object, const char* key) {
  const auto& value = object.at(key);
  if (!value.is_number_unsigned() || !std::in_range<T>(value.get<uint64_t>())) {
    throw error_of(ErrorCode::corrupt, "'{}' is {}, but must be a whole number from 0 to {}", key,
                   value.dump(), std::numeric_limits<T>::max());
  }
  return static_cast<T>(value.get<uint64_t>());
}

// Throws Error(invalid_argument) for the first text of `json`, key or value, that is not UTF-8;
// `place` is where `json` stands: "/classes/0".
template <typename Json>
void require_utf8(const Json& json, const std::filesystem::path& path, const std::string& place) {
  const auto require = [&](const std::string& text) {
    if (is_utf8(text)) return;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the text '{}' {} is not UTF-8", printable(text),
                    place.empty() ? "of the JSON" : "at " + place),
        {.path = path.string(), .subject = ErrorSubject::argument, .remedy = "give it as UTF-8"});
  };
  if (json.is_string()) require(json.template get_ref<const std::string&>());
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) {
    require(key);
    require_utf8(value, path, std::string(place).append("/").append(key));
  }
}

// `json` as JSON text on one line; with `indent` >= 0 on several. Throws Error(invalid_argument)
// with `path`, the file that the text is for, when a text is not UTF-8: JSON has no other.
template <typename Json>
std::string json_text(const Json& json, const std::filesystem::path& path = {}, int indent = -1) {
  try {
    return json.dump(indent);
  } catch (const typename Json::exception&) {
    require_utf8(json, path, "");
    throw;
  }
}

}  // namespace ffkit
