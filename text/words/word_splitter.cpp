#include "word_splitter.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ffkit::text {
namespace {

enum class Kind : uint8_t { other, letter, number, space };

constexpr std::array<Kind, 32> kinds_of_categories() {
  std::array<Kind, 32> kinds{};
  for (size_t i = 0; i < kinds.size(); ++i) {
    const CategorySet set = CategorySet{1} << i;
    kinds[i] = i <= static_cast<size_t>(Category::lo) ? Kind::letter
               : i >= static_cast<size_t>(Category::nd) && i <= static_cast<size_t>(Category::no)
                   ? Kind::number
               : (set & kSpaces) != 0 ? Kind::space
                                      : Kind::other;
  }
  return kinds;
}
constexpr std::array<Kind, 32> kKinds = kinds_of_categories();

constexpr std::array<Kind, 128> ascii_kinds() {
  std::array<Kind, 128> kinds{};
  for (int c = 0; c < 128; ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    kinds[c] = is_letter              ? Kind::letter
               : c >= '0' && c <= '9' ? Kind::number
               : is_space             ? Kind::space
                                      : Kind::other;
  }
  return kinds;
}
constexpr std::array<Kind, 128> kAsciiKinds = ascii_kinds();

struct Part {
  Kind kind;
  uint32_t length;  // bytes
};

inline Part part_at(const uint8_t* table, const char* p) {
  const auto lead = static_cast<unsigned char>(*p);
  if (lead < 0x80) return {kAsciiKinds[lead], 1};
  const Character c = character_at(p);
  return {kKinds[table[c.code] & 31], c.length};
}

// Behind the characters of `kind` from `p` on.
inline const char* end_of_run(const uint8_t* table, const char* p, const char* end, Kind kind) {
  while (p != end) {
    const Part c = part_at(table, p);
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
  const Part first = part_at(table_, begin);
  const char* const second = begin + first.length;
  if (first.kind != Kind::space) return word_to(end_of_run(table_, second, end_, first.kind));
  if (second == end_) return word_to(second);
  const Part after = part_at(table_, second);
  if (after.kind != Kind::space) {
    return *begin == ' ' ? word_to(end_of_run(table_, second + after.length, end_, after.kind))
                         : word_to(second);
  }
  // \s+(?!\S): all but the last one, unless the text ends there.
  const char* last = second;
  for (const char* p = second; p != end_;) {
    const Part c = part_at(table_, p);
    if (c.kind != Kind::space) return word_to(last);
    last = p;
    p += c.length;
  }
  return word_to(end_);
}

}  // namespace ffkit::text
