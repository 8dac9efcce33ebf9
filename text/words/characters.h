// What Hugging Face's tokenizers know about a character of Unicode: its general category and more,
// in a byte.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace ffkit::text {

// The table takes 1.1 MB. It is made from character_ranges.cpp when it is first needed.
// The numbers are those that make_character_ranges writes; here are the categories that the code
// names, and kNames in characters.cpp has all.
enum class Category : uint8_t {
  lo = 4,  // the last kind of letters
  nd = 8,
  no = 10,  // the last kind of numbers
  zs = 22,
  zl,
  zp,
  cc,
  control_space = 29,  // characters of Cc that are white space
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

// Whether all of `text` is UTF-8; faster than is_utf8() of short texts.
bool is_valid_utf8(std::string_view text);

}  // namespace ffkit::text
