// A generated text: which token comes next, the text while its tokens come, and where it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/image/random.h>
#include <ffkit/text/tokenizer.h>

namespace ffkit {

struct TokenChoice {
  double temperature = 0;  // 0: the likeliest
  int64_t top_k = 0;       // 0: all
  double top_p = 1;
};

// Makes tokens that a sequence has less likely, by a `penalty` above 1, as transformers'
// RepetitionPenaltyLogitsProcessor: of each token of `sequence`, once, a logit above 0 is divided
// by it and one below is multiplied (Keskar et al., "CTRL", 2019). Tokens beyond `logits` do not
// count.
void penalize_repetition(std::span<float> logits, std::span<const uint32_t> sequence,
                         double penalty);

// Draws a token from the logits of a position, as transformers' samplers do: logits are divided by
// the temperature, the top_k likeliest are kept, of these the fewest whose probabilities make
// top_p, and one is drawn by its probability. Of equals, the smaller number is the likelier. Not
// thread-safe.
class NextToken {
 public:
  explicit NextToken(const TokenChoice& choice) : choice_(choice) {}
  int64_t choose(std::span<const float> logits, CounterRandom& random);

 private:
  const TokenChoice choice_;
  std::vector<int32_t> order_;
  std::vector<double> probabilities_;
};

// StopStrings: texts behind which a generated text ends.
class StopStrings {
 public:
  struct Match {
    size_t begin = 0;  // in the text
    std::string text = {};
  };

  // None of `texts` is empty.
  explicit StopStrings(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  // The first stop string in `text` that ends within the last `num_new` bytes, those of its last
  // token. transformers' StopStringCriteria: it may begin in the prompt, and the token may go on
  // behind it.
  std::optional<Match> find(std::string_view text, size_t num_new) const;
  // How many bytes at the end of `text` may be the beginning of a stop string.
  size_t num_begun(std::string_view text) const;

 private:
  std::vector<std::string> texts_;
};

// GrowingText: the text of one sequence while its tokens come.
//
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
