// WordSplitter: the words of a text by GPT-2's pattern:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// In words: a contraction; a run of letters, of numbers or of anything else, with one space before
// it; a run of white space, without its last character where something follows.
#pragma once

#include <string_view>

#include "words/characters.h"

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

}  // namespace ffkit::text
