// GrowingText: the text of one sequence while its tokens come.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <ffkit/text/tokenizer.h>

#include "tasks/gpt2/generation/stop_strings.h"

namespace ffkit {

// Not thread-safe; the stop strings must outlive it.
class GrowingText {
 public:
  // `prompt`: the tokens of it that are shown. `hides_stop`: the text ends before a stop string, or
  // with the prompt where it begins in that.
  GrowingText(const text::Tokenizer& tokenizer, const StopStrings& stops, bool hides_stop,
              std::span<const uint32_t> prompt);

  // The next token. `is_end`: it ends the text; a special one is then not shown.
  void add(uint32_t token, bool is_end);
  // Nothing follows.
  void finish();

  // The stop string that the text has ended with; empty: none.
  const std::string& stop() const { return stop_; }
  // The part that is known for certain, valid UTF-8; all of it behind finish(). It only grows.
  const std::string& text() const { return text_; }

 private:
  void show(size_t end);

  const text::Tokenizer tokenizer_;
  const StopStrings& stops_;
  const bool hides_stop_;
  std::string bytes_;  // of all tokens; may be no UTF-8
  const size_t prompt_size_;
  size_t num_shown_ = 0;  // of `bytes_`
  text::TokenDecoder decoder_;
  std::string text_, stop_;
};

}  // namespace ffkit
