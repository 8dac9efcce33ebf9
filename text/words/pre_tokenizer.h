// AddedTokens, Normalizer: see below.
//
// PreTokenizer: cuts a text into pieces, within which bytes are merged. It applies patterns one
// after the other; the caller applies GPT-2's as the last one. Immutable.
//
// WordSplitter: the words of a text by GPT-2's pattern:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// In words: a contraction; a run of letters, of numbers or of anything else, with one space before
// it; a run of white space, without its last character where something follows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "words/characters.h"

namespace ffkit::text {

// Pattern: the regular expressions of tokenizer.json, matched as by Oniguruma, which Hugging Face's
// tokenizers call.
//
// It knows alternatives, groups, characters and sets with \s \d \p{category} and their opposites,
// the quantifiers ? * + {n,m}, possessive ones, looking ahead, (?i:...) for letters of ASCII, and
// $. Only ? repeats a group. The rest of the syntax, and a pattern that can match nothing, is
// refused by name.
//
// Immutable: all functions are thread-safe.

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

// What is done to a text before it is cut into words: AddedTokens finds tokens in it, Normalizer
// changes what is between them. Both are immutable.
enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

struct NormalizerStep {
  NormalForm form = NormalForm::nfc;
  std::vector<Pattern> pattern{};  // one: each match becomes `content`, and there is no form
  std::string content{};
};

// Normal forms of Unicode 9, as in Hugging Face's tokenizers, and replacements.
class Normalizer {
 public:
  std::vector<NormalizerStep> steps;

  // From valid UTF-8 to valid UTF-8. Returns `text` itself if nothing changes, else `buffer`.
  std::string_view apply(std::string_view text, std::string& buffer) const;
};

struct AddedToken {
  uint32_t id = 0;
  std::string content;
  bool is_special = false;     // texts make it only if asked to
  bool is_normalized = false;  // is looked for after the normalizer
  bool is_word = false;        // is not found within a word
  bool strips_left = false;    // takes the white space before it, too
  bool strips_right = false;
  bool is_in_model = false;  // it is in the vocabulary of the model, too
};

// A part of a text: an added token, or text between them.
struct TextPart {
  std::string_view text;
  const AddedToken* token = nullptr;  // nullptr: text
};

// The tokens that are found in a text.
class AddedTokens {
 public:
  // Takes those of `tokens` that are looked for after the normalizer, or before it. `special` says
  // whether texts make special ones.
  AddedTokens() = default;
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized, const Normalizer& normalizer,
              bool special = false);

  // Appends the parts of `text`, with the longest token at each place. They are views of `text` and
  // of this object.
  void split(std::string_view text, std::vector<TextPart>& parts) const;

 private:
  struct Entry {
    std::string looked_for;  // the content, normalised
    AddedToken token;
  };
  const Entry* longest_at(std::string_view rest) const;

  std::vector<Entry> entries_;  // sorted by text
  std::array<bool, 256> begins_{};
  bool takes_special_ = false;
};

class WordSplitter {
 public:
  // `text` is valid UTF-8 and must outlive the splitter and its words.
  explicit WordSplitter(std::string_view text)
      : table_(character_table()), next_(text.data()), end_(text.data() + text.size()) {}

  bool is_at_end() const { return next_ == end_; }
  // The next word; never empty. All words together are the text. Do not call it at the end.
  std::string_view next();

 private:
  const uint8_t* table_;
  const char* next_;
  const char* end_;
};

// What becomes of the matches of a pattern. The names are tokenizer.json's.
enum class SplitBehavior : uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous
};

struct SplitStep {
  std::vector<Pattern> pattern{};  // one; none: a match is each number, by Rust's is_numeric()
  SplitBehavior behavior = SplitBehavior::isolated;
  bool is_inverted = false;  // the matches are what lies between
};

class PieceSink {
 public:
  virtual ~PieceSink() = default;
  // Not empty; lives as long as the call.
  virtual void add(std::string_view piece) = 0;
};

class PreTokenizer {
 public:
  std::vector<SplitStep> steps;
  bool adds_prefix_space = false;  // to each piece that does not begin with one

  void split(std::string_view text, PieceSink& sink) const { split(0, text, sink); }

 private:
  void split(size_t step, std::string_view text, PieceSink& sink) const;
};

}  // namespace ffkit::text
