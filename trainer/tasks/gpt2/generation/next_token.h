// Which token comes next: the likeliest, or one that is drawn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/image/random.h>

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

}  // namespace ffkit
