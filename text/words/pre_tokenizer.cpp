#include "pre_tokenizer.h"

#include <algorithm>

namespace ffkit::text {
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
