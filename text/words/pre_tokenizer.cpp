#include "pre_tokenizer.h"

#include <algorithm>
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

namespace {

struct Piece {
  const char* begin;
  const char* end;
  bool is_match;
};

Pattern::Match next_number(const char* p, const char* end) {
  for (const uint8_t* table = character_table(); p != end;) {
    const Character c = character_at(p);
    if ((table[c.code] & kNumeric) != 0) return {p, p + c.length};
    p += c.length;
  }
  return {};
}

// Matches and what is between them.
template <class OnPiece>
void find_pieces(const SplitStep& step, std::string_view text, OnPiece on_piece) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const Pattern::Match found =
        step.pattern.empty() ? next_number(p, end) : step.pattern[0].find(p, end);
    const char* const begin = found.begin == nullptr ? end : found.begin;
    if (p != begin) on_piece(Piece{p, begin, step.is_inverted});
    if (found.begin == nullptr) return;
    on_piece(Piece{found.begin, found.end, !step.is_inverted});
    p = found.end;
  }
}

// Joins each match to the piece before it, where that is none itself; from the last to the first,
// to the one behind it.
void join_matches(std::vector<Piece>& pieces, SplitBehavior behavior) {
  const bool is_backward = behavior == SplitBehavior::merged_with_next;
  if (is_backward) std::ranges::reverse(pieces);
  std::vector<Piece> joined;
  bool was_match = false;
  for (const Piece& piece : pieces) {
    const bool joins = behavior == SplitBehavior::contiguous ? piece.is_match == was_match
                                                             : piece.is_match && !was_match;
    if (joins && !joined.empty()) {
      joined.back().begin = std::min(joined.back().begin, piece.begin);
      joined.back().end = std::max(joined.back().end, piece.end);
    } else {
      joined.push_back(piece);
    }
    was_match = piece.is_match;
  }
  if (is_backward) std::ranges::reverse(joined);
  pieces.swap(joined);
}

}  // namespace

void PreTokenizer::split(size_t at, std::string_view text, PieceSink& sink) const {
  if (at == steps.size()) {
    if (!adds_prefix_space || text.starts_with(' ')) return sink.add(text);
    return sink.add(" " + std::string(text));
  }
  const SplitStep& step = steps[at];
  const auto pass_on = [&](const Piece& piece) { split(at + 1, {piece.begin, piece.end}, sink); };
  if (step.behavior == SplitBehavior::isolated) return find_pieces(step, text, pass_on);
  std::vector<Piece> pieces;
  find_pieces(step, text, [&](const Piece& piece) {
    if (step.behavior != SplitBehavior::removed || !piece.is_match) pieces.push_back(piece);
  });
  if (step.behavior != SplitBehavior::removed) join_matches(pieces, step.behavior);
  std::ranges::for_each(pieces, pass_on);
}

}  // namespace ffkit::text
