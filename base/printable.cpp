#include "printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace ffkit {
namespace {

// Length of the UTF-8 sequence at the beginning of `text`, which is not empty; 0 when it is none
// (Unicode 15, table 3-7).
size_t sequence_length(std::string_view text) {
  const auto byte = [text](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80; };
  const uint32_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool is_overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool is_surrogate = first == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool is_overlong = first == 0xF0 && byte(1) < 0x90;
    const bool is_beyond = first == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !is_overlong && !is_beyond ? 4 : 0;
  }
  return 0;
}

// U+0000 .. U+001F, U+007F .. U+009F: terminals obey them.
bool is_control(std::string_view sequence) {
  const auto first = static_cast<uint8_t>(sequence[0]);
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && static_cast<uint8_t>(sequence[1]) < 0xA0);
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string utf8_of(std::string_view text) {
  return is_utf8(text) ? std::string(text) : printable(text);
}

bool begins_without_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() &&
         std::ranges::equal(text.substr(0, start.size()), start, {}, lower_letter);
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(sequence.size());
    if (length > 0 && !is_control(sequence)) {
      result += sequence;
    } else if (sequence == "\n") {
      result += "\\n";
    } else if (sequence == "\t") {
      result += "\\t";
    } else {
      for (const char c : sequence) result += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return result;
}

}  // namespace ffkit
