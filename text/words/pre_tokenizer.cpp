#include "pre_tokenizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace ffkit::text {
namespace {

// Characters below are the same in the form, whatever is behind them.
constexpr uint32_t kFirstThatChanges[] = {0x300, 0xC0, 0xA0, 0xA0};

int options_of(NormalForm form) {
  const int compat = form == NormalForm::nfkc || form == NormalForm::nfkd ? UTF8PROC_COMPAT : 0;
  const bool composes = form == NormalForm::nfc || form == NormalForm::nfkc;
  return UTF8PROC_STABLE | compat | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
}

void append_form(std::string_view text, NormalForm form, std::string& out,
                 std::vector<utf8proc_int32_t>& codes) {
  if (text.empty()) return;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto options = static_cast<utf8proc_option_t>(options_of(form));
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  codes.resize(text.size() + 1);
  utf8proc_ssize_t count = utf8proc_decompose(bytes, size, codes.data(),
                                              static_cast<utf8proc_ssize_t>(codes.size()), options);
  if (count >= static_cast<utf8proc_ssize_t>(codes.size())) {
    codes.resize(static_cast<size_t>(count) + 1);
    count = utf8proc_decompose(bytes, size, codes.data(), count, options);
  }
  // Of valid UTF-8 it fails for lack of memory alone.
  if (count < 0) throw std::bad_alloc();
  count = utf8proc_normalize_utf32(codes.data(), count, options);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t character[4];
    const auto length = utf8proc_encode_char(codes[i], character);
    out.append(reinterpret_cast<const char*>(character), static_cast<size_t>(length));
  }
}

// False where nothing changes.
bool to_form(std::string_view text, NormalForm form, std::string& out) {
  const uint32_t first = kFirstThatChanges[static_cast<size_t>(form)];
  const uint8_t* table = character_table();
  const char* const end = text.data() + text.size();
  const char* p = text.data();
  while (p != end && character_at(p).code < first) p += character_at(p).length;
  if (p == end) return false;
  // Marks of the first one that changes may belong to the one before it.
  if (p != text.data()) p = character_before(p);
  out.assign(text.data(), p);
  std::vector<utf8proc_int32_t> codes;
  const char* begin = p;
  for (; p != end;) {
    const Character c = character_at(p);
    // libutf8proc knows more characters than Unicode 9: to the form they are like any other that
    // has no parts. It takes U+11A7 for a consonant that ends a syllable, and drops it.
    if ((table[c.code] & kNewCharacter) != 0 || c.code == 0x11A7) {
      append_form({begin, p}, form, out, codes);
      out.append(p, c.length);
      begin = p + c.length;
    }
    p += c.length;
  }
  append_form({begin, end}, form, out, codes);
  return true;
}

bool replace(std::string_view text, const Pattern& pattern, std::string_view content,
             std::string& out) {
  const char* p = text.data();
  const char* const end = p + text.size();
  Pattern::Match found = pattern.find(p, end);
  if (found.begin == nullptr) return false;
  out.clear();
  for (; found.begin != nullptr; found = pattern.find(p, end)) {
    out.append(p, found.begin).append(content);
    p = found.end;
  }
  out.append(p, end);
  return true;
}

}  // namespace

std::string_view Normalizer::apply(std::string_view text, std::string& buffer) const {
  std::string next;
  for (const NormalizerStep& step : steps) {
    const bool is_changed = step.pattern.empty()
                                ? to_form(text, step.form, next)
                                : replace(text, step.pattern[0], step.content, next);
    if (!is_changed) continue;
    buffer.swap(next);
    text = buffer;
  }
  return text;
}

namespace {

bool has_flag(const char* p, uint8_t flag) {
  return (character_table()[character_at(p).code] & flag) != 0;
}

bool is_space(const char* p) {
  return (kSpaces >> (character_table()[character_at(p).code] & 31) & 1) != 0;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool normalized,
                         const Normalizer& normalizer, bool special)
    : takes_special_(special) {
  std::string buffer;
  for (const AddedToken& token : tokens) {
    if (token.is_normalized != normalized) continue;
    const std::string_view text =
        normalized ? normalizer.apply(token.content, buffer) : token.content;
    if (text.empty()) continue;
    entries_.push_back({std::string(text), token});
    begins_[static_cast<unsigned char>(text[0])] = true;
  }
  // Of several with the same text the first one counts.
  std::ranges::stable_sort(entries_, {}, &Entry::looked_for);
  const auto has_same_text = [](const Entry& a, const Entry& b) {
    return a.looked_for == b.looked_for;
  };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), has_same_text), entries_.end());
}

const AddedTokens::Entry* AddedTokens::longest_at(std::string_view rest) const {
  const Entry* longest = nullptr;
  auto begin = entries_.begin(), end = entries_.end();
  for (size_t i = 0; i < rest.size() && begin != end; ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    // Those that go on with this byte; a text that ends here is before all others.
    const auto next = [i](const Entry& entry) {
      return entry.looked_for.size() <= i ? -1
                                          : int{static_cast<unsigned char>(entry.looked_for[i])};
    };
    begin = std::partition_point(begin, end, [&](const Entry& e) { return next(e) < byte; });
    end = std::partition_point(begin, end, [&](const Entry& e) { return next(e) <= byte; });
    if (begin != end && begin->looked_for.size() == i + 1) longest = &*begin;
  }
  return longest;
}

void AddedTokens::split(std::string_view text, std::vector<TextPart>& parts) const {
  const char* const first = text.data();
  const char* const last = first + text.size();
  const char* done = first;
  for (const char* p = first; p != last;) {
    if (!begins_[static_cast<unsigned char>(*p)]) {
      ++p;
      continue;
    }
    const Entry* entry = longest_at({p, last});
    if (entry == nullptr) {
      ++p;
      continue;
    }
    const AddedToken& token = entry->token;
    const char* begin = p;
    const char* end = p + entry->looked_for.size();
    p = end;  // also where the token does not count: nothing within it is looked for
    if (token.is_special && !takes_special_) continue;
    if (token.is_word && ((begin != first && has_flag(character_before(begin), kWordCharacter)) ||
                          (end != last && has_flag(end, kWordCharacter)))) {
      continue;
    }
    if (token.strips_left) {
      while (begin > done && is_space(character_before(begin))) begin = character_before(begin);
    }
    if (token.strips_right) {
      while (end != last && is_space(end)) end += character_at(end).length;
    }
    if (done < begin) parts.push_back({{done, begin}});
    parts.push_back({{begin, end}, &token});
    done = end;
  }
  if (done != last) parts.push_back({{done, last}});
}

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
