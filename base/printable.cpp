#include "printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "utf8.h"

namespace ffkit {
namespace {

// Length of the UTF-8 sequence at the beginning of `text`, which is not empty; 0 when it is none.
size_t sequence_length(std::string_view text) {
  const Utf8Part part = first_part(text);
  return part.kind == Utf8Kind::character ? part.length : 0;
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

std::string without_marks(std::string_view text) {
  constexpr std::string_view kStart = "://<";
  std::string result;
  for (size_t at = text.find(kStart); at != std::string_view::npos; at = text.find(kStart)) {
    const size_t mark = at + kStart.size() - 1;
    const size_t end = text.find_first_not_of("0123456789", mark + 1);
    const bool is_mark = end != std::string_view::npos && end > mark + 1 && text[end] == '>';
    result += text.substr(0, mark + (is_mark ? 0 : 1));
    text.remove_prefix(is_mark ? end + 1 : mark + 1);
  }
  return result.append(text);
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
