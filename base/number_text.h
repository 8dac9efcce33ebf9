// Numbers that are written in texts, and texts that are taken apart from their front.
#pragma once

#include <charconv>
#include <cstddef>
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

// Takes `expected` off the front of `text`. False where it is not there.
inline bool take_text(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Takes a number off the front of `text`, as std::from_chars() reads it. False where there is none.
template <typename T>
bool take_number(std::string_view& text, T& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return true;
}

}  // namespace ffkit
