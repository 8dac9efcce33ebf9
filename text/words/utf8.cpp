#include "utf8.h"

#include <simdjson.h>

namespace ffkit::text {

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::string with_replacements(std::string_view text) {
  std::string valid;
  valid.reserve(text.size() + 64);
  while (!text.empty()) {
    const Utf8Part part = first_part(text);
    valid += part.kind == Utf8Kind::character ? text.substr(0, part.length) : kReplacement;
    text.remove_prefix(part.length);
  }
  return valid;
}

}  // namespace ffkit::text
