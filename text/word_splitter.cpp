#include "word_splitter.h"

#include <utf8proc.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ffkit {
namespace {

enum class Kind : uint8_t { other, letter, number, space };

// The property White_Space beyond ASCII (Unicode's PropList.txt).
constexpr bool is_wide_space(uint32_t c) {
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

Kind category_of(uint32_t c) {
  if (is_wide_space(c)) return Kind::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Kind::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Kind::number;
    default:
      return Kind::other;
  }
}

constexpr std::array<Kind, 128> ascii_kinds() {
  std::array<Kind, 128> kinds{};
  for (int c = 0; c < 128; ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    kinds[static_cast<size_t>(c)] = is_letter              ? Kind::letter
                                    : c >= '0' && c <= '9' ? Kind::number
                                    : is_space             ? Kind::space
                                                           : Kind::other;
  }
  return kinds;
}
constexpr std::array<Kind, 128> kAsciiKinds = ascii_kinds();

struct Character {
  Kind kind;
  int length;  // bytes
};

// The character at `p` in valid UTF-8.
inline Character character_at(const char* p) {
  const auto byte = [p](int i) { return static_cast<unsigned char>(p[i]); };
  const auto tail = [&byte](int i) { return static_cast<uint32_t>(byte(i) & 0x3F); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {kAsciiKinds[lead], 1};
  if (lead < 0xE0) return {category_of((lead & 0x1FU) << 6 | tail(1)), 2};
  if (lead < 0xF0) return {category_of((lead & 0x0FU) << 12 | tail(1) << 6 | tail(2)), 3};
  return {category_of((lead & 0x07U) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3)), 4};
}

// Behind the characters of `kind` from `p` on.
inline const char* end_of_run(const char* p, const char* end, Kind kind) {
  while (p != end) {
    const Character c = character_at(p);
    if (c.kind != kind) break;
    p += c.length;
  }
  return p;
}

// Length of 's 't 're 've 'm 'll 'd at `p`, where an apostrophe is; 0: none of them.
size_t contraction_at(const char* p, const char* end) {
  const auto left = end - p;
  if (left < 2) return 0;
  if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd') return 2;
  if (left < 3) return 0;
  const bool is_long =
      (p[1] == 'r' && p[2] == 'e') || (p[1] == 'v' && p[2] == 'e') || (p[1] == 'l' && p[2] == 'l');
  return is_long ? 3 : 0;
}

}  // namespace

std::string_view WordSplitter::next() {
  const char* const begin = next_;
  const auto word_to = [this, begin](const char* end) {
    next_ = end;
    return std::string_view(begin, static_cast<size_t>(end - begin));
  };
  if (*begin == '\'') {
    if (const size_t length = contraction_at(begin, end_); length > 0)
      return word_to(begin + length);
  }
  const Character first = character_at(begin);
  const char* const second = begin + first.length;
  if (first.kind != Kind::space) return word_to(end_of_run(second, end_, first.kind));
  if (second == end_) return word_to(second);
  const Character after = character_at(second);
  if (after.kind != Kind::space) {
    return *begin == ' ' ? word_to(end_of_run(second + after.length, end_, after.kind))
                         : word_to(second);
  }
  // \s+(?!\S): all but the last one, unless the text ends there.
  const char* last = second;
  for (const char* p = second; p != end_;) {
    const Character c = character_at(p);
    if (c.kind != Kind::space) return word_to(last);
    last = p;
    p += c.length;
  }
  return word_to(end_);
}

}  // namespace ffkit
