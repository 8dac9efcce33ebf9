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

#include <cstdint>
#include <string_view>
#include <vector>

#include "words/characters.h"
#include "words/pattern.h"

namespace ffkit::text {

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
