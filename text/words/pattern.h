// Pattern: the regular expressions of tokenizer.json, matched as by Oniguruma, which Hugging Face's
// tokenizers call.
//
// It knows alternatives, groups, characters and sets with \s \d \p{category} and their opposites,
// the quantifiers ? * + {n,m}, possessive ones, looking ahead, (?i:...) for letters of ASCII, and
// $. Only ? repeats a group. The rest of the syntax, and a pattern that can match nothing, is
// refused by name.
//
// Immutable: all functions are thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "words/characters.h"

namespace ffkit::text {

// A set of characters.
struct CharacterSet {
  std::array<uint64_t, 2> ascii{};  // a bit each
  CategorySet categories = 0;       // of the others
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  bool is_negated = false;

  bool has(const uint8_t* table, uint32_t code) const {
    if (code < 128) return (ascii[code >> 6] >> (code & 63) & 1) != 0;
    bool found = (categories >> (table[code] & 31) & 1) != 0;
    for (size_t i = 0; !found && i < ranges.size(); ++i) {
      found = code >= ranges[i].first && code <= ranges[i].second;
    }
    return found != is_negated;
  }
};

class Pattern {
 public:
  // Throws Error(unsupported) without a path for what is not known.
  static Pattern parse(std::string_view expression);
  // A pattern that matches these characters.
  static Pattern of_text(std::string_view text);

  struct Match {
    const char* begin = nullptr;  // nullptr: there is none
    const char* end = nullptr;
  };
  // The first match in valid UTF-8 that begins at `p` or later. Throws Error(unsupported) without a
  // path for a pattern that goes back too often.
  Match find(const char* p, const char* end) const;

 private:
  friend class PatternParser;
  static constexpr uint32_t kMany = UINT32_MAX;
  enum class Op : uint8_t { end, run, branch, look, line_end };
  struct Node {
    Op op = Op::end;
    bool is_possessive = false;  // of a run
    bool is_negative = false;    // of a look ahead
    uint32_t next = 0;
    uint32_t min = 1, max = 1;  // of a run
    CharacterSet set{};         // of a run
    std::vector<uint32_t> branches{};
  };
  // The end of a match that begins at `p`; nullptr without one. Counts the nodes down.
  const char* match(uint32_t node, const char* p, const char* end, int64_t& steps_left) const;

  std::string text_;  // for errors
  std::vector<Node> nodes_;
  uint32_t first_ = 0;
  const uint8_t* table_ = character_table();
};

}  // namespace ffkit::text
