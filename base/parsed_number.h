// parsed_number: the number that is all of a text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace ffkit {

// As std::from_chars(); nothing for a text that has anything beside it, and for what T cannot hold.
template <typename T>
std::optional<T> parsed_number(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace ffkit
