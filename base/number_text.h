// Numbers that are written in texts.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ffkit {

// The number that all of `text` is, as std::from_chars() reads it; nothing for anything else, such
// as an empty text, blanks, and a number that is no T.
template <typename T, typename... Base>
std::optional<T> number_of_text(std::string_view text, Base... base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, base...);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace ffkit
