// PreTokenizer: cuts a text into pieces, within which bytes are merged. It applies patterns one
// after the other; the caller applies GPT-2's as the last one (WordSplitter). Immutable.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "words/pattern.h"

namespace ffkit::text {

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
