// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

struct Character {
  uint32_t code;
  uint32_t length;  // bytes
};
// The character at `p` in valid UTF-8.
inline Character character_at(const char* p) {
  const auto byte = [p](int i) { return static_cast<unsigned char>(p[i]); };
  const auto tail = [&byte](int i) { return static_cast<uint32_t>(byte(i) & 0x3F); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1FU) << 6 | tail(1), 2};
  if (lead < 0xF0) return {(lead & 0x0FU) << 12 | tail(1) << 6 | tail(2), 3};
  return {(lead & 0x07U) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4};
}
// The beginning of the character that ends before `p`.
inline const char* character_before(const char* p) {
  do {
    --p;
  } while ((static_cast<unsigned char>(*p) & 0xC0) == 0x80);
  return p;
}

// Bytes that are not UTF-8 are replaced as by Python's bytes.decode("utf-8", "replace"): U+FFFD for
// each maximal part of a character (The Unicode Standard, 3.9, "U+FFFD Substitution of Maximal
// Subparts").
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8Kind : uint8_t {
  character,  // a whole one
  broken,     // can never become a character
  begun,      // the text ends within the character
};

struct Utf8Part {
  Utf8Kind kind;
  size_t length;  // bytes, >= 1
};

// The first character of `text`, which is not empty.
constexpr Utf8Part first_part(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {Utf8Kind::character, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Kind::broken, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The limits of the second byte: no overlong forms, no surrogates, nothing beyond U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {Utf8Kind::begun, i};
    const bool fits = i == 1 ? byte(i) >= low && byte(i) <= high : (byte(i) & 0xC0) == 0x80;
    if (!fits) return {Utf8Kind::broken, i};
  }
  return {Utf8Kind::character, length};
}

// `text` with U+FFFD for bytes that are not UTF-8.
inline std::string with_replacements(std::string_view text) {
  std::string valid;
  valid.reserve(text.size() + 64);
  while (!text.empty()) {
    const Utf8Part part = first_part(text);
    valid += part.kind == Utf8Kind::character ? text.substr(0, part.length) : kReplacement;
    text.remove_prefix(part.length);
  }
  return valid;
}

}  // namespace ffkit
