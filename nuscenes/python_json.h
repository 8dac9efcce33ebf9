// JSON as Python's json module reads it, with simdjson: NaN, Infinity and -Infinity are numbers,
// true and false count as 1 and 0, and all of a value is looked at, also of one that nobody wants.
// Pure functions: thread-safe.
//
// All read the value to its end, whatever it is, and throw simdjson::simdjson_error where it is no
// JSON.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>

namespace ffkit::nuscenes {

enum class JsonKind { number, boolean, text, null, array, object };

// By the first character; number for what is none of the others.
JsonKind kind_of(simdjson::ondemand::value value);
// The value as it stands in the file; of an array or object the bracket. Reads nothing.
std::string_view token_of(simdjson::ondemand::value value);
void skip(simdjson::ondemand::value value);
// Nothing for what is neither a number nor true or false.
std::optional<double> number_or_none(simdjson::ondemand::value value);
// Also of a text that Python's float() takes.
std::optional<double> number_or_text(simdjson::ondemand::value value);

}  // namespace ffkit::nuscenes
