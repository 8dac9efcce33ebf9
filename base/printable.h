// Text for people: what comes from outside, such as file names, made fit for messages, and numbers
// and durations as they are written.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

// True when `text` is UTF-8 as Unicode defines it: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

// `text` where it is UTF-8, else printable(text).
std::string utf8_of(std::string_view text);

// `text` on one line: control characters and bytes that are no UTF-8 become "\n", "\t" or "\x1b".
std::string printable(std::string_view text);

// `text` without the marks of addresses with options ("s3://<2>bucket", storage_options.h), which
// mean something in this process alone.
std::string without_marks(std::string_view text);

// 'a' of 'A'; what is no capital letter of ASCII stays, whatever the locale is.
constexpr char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
// `text` without the white space of ASCII at both ends, as Python's strip().
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\f\v";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}
// Whether `words`, with blanks between them, has `word`.
inline bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word && !word.empty()) return true;
    words.remove_prefix(std::min(first.size() + 1, words.size()));
  }
  return false;
}
// `text` with lower_letter() of each letter.
inline std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_letter(c);
  return lower;
}
// Whether `text` begins with `start`, which is in lower case, whatever the case of its own letters.
bool begins_without_case(std::string_view text, std::string_view start);

// 1,281,167
inline std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}
// "1 record" or "1,281,167 records" of "record".
inline std::string counted(int64_t number, std::string_view word) {
  return fmt::format("{} {}{}", with_commas(number), word, number == 1 ? "" : "s");
}

// `seconds` >= 0 as "1:23" or "2:01:23".
inline std::string clock_time(int64_t seconds) {
  const int64_t minutes = seconds / 60;
  return minutes < 60 ? fmt::format("{}:{:02}", minutes, seconds % 60)
                      : fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, seconds % 60);
}

}  // namespace ffkit
