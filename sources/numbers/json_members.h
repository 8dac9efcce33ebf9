// JSON members: the members of one JSON object as Python's json finds them, for lines that simdjson
// refuses as a whole although only a value that nobody asked for is unusual: NaN, a whole number of
// 30 digits, half a surrogate pair.
//
// Takes what Python takes and refuses what Python refuses, but for bytes that are no UTF-8, which
// are a problem of their value alone. Slow beside simdjson.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

struct JsonMember {
  std::string key;         // unescaped; U+FFFD for half a surrogate pair
  std::string_view value;  // in the text that was given
  // What in the value simdjson would refuse: "is NaN", "holds half a surrogate pair, \ud83d".
  // Empty: nothing.
  std::string problem;
};

// In the order of `text`; a key may be there twice. Throws Error(corrupt), without a path, for text
// that is no JSON, with the column of what is wrong; Error(invalid_argument) for JSON that is no
// object.
std::vector<JsonMember> json_members(std::string_view text);

}  // namespace ffkit
