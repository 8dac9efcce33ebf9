// What Hugging Face's tokenizers know about a character of Unicode: its general category and more,
// in a byte. The table takes 1.1 MB. It is made from character_ranges.cpp when it is first needed.
// And UTF-8, character by character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit::text {

// What Hugging Face's tokenizers know about a character of Unicode: its general category and more,
// in a byte. The table takes 1.1 MB. It is made from character_ranges.cpp when it is first needed.
// The numbers are those that make_character_ranges writes.
enum class Category : uint8_t {
  lu,
  ll,
  lt,
  lm,
  lo,
  mn,
  mc,
  me,
  nd,
  nl,
  no,
  pc,
  pd,
  ps,
  pe,
  pi,
  pf,
  po,
  sm,
  sc,
  sk,
  so,
  zs,
  zl,
  zp,
  cc,
  cf,
  co,
  cn,
  control_space,  // characters of Cc that are white space
};

// Beside the category, which has the five lowest bits.
inline constexpr uint8_t kWordCharacter = 32;  // \w of Rust's regex
inline constexpr uint8_t kNumeric = 64;        // Rust's is_numeric()
inline constexpr uint8_t kNewCharacter = 128;  // assigned after Unicode 9

// A bit for each category.
using CategorySet = uint32_t;
constexpr CategorySet set_of(Category category) {
  return CategorySet{1} << static_cast<int>(category);
}
inline constexpr CategorySet kAllCategories =
    (CategorySet{2} << static_cast<int>(Category::control_space)) - 1;
inline constexpr CategorySet kSpaces = set_of(Category::zs) | set_of(Category::zl) |
                                       set_of(Category::zp) | set_of(Category::control_space);
// The categories of a name as in \p{...}: "L", "Lu"; 0 for an unknown name.
CategorySet categories_called(std::string_view name);

// The table: a byte for each of 0 .. 0x10FFFF.
const uint8_t* character_table();
const std::vector<uint32_t>& character_ranges();  // the table is made from them

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

// Whether all of `text` is UTF-8.
bool is_valid_utf8(std::string_view text);
// `text` with U+FFFD for bytes that are not UTF-8.
std::string with_replacements(std::string_view text);

}  // namespace ffkit::text
