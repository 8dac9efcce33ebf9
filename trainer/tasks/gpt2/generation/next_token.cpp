#include "tasks/gpt2/generation/next_token.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ffkit {

void penalize_repetition(std::span<float> logits, std::span<const uint32_t> sequence,
                         double penalty) {
  std::vector<uint32_t> tokens(sequence.begin(), sequence.end());
  std::ranges::sort(tokens);
  const auto repeated = std::ranges::unique(tokens);
  tokens.erase(repeated.begin(), repeated.end());
  for (const uint32_t token : tokens) {
    if (token >= logits.size()) continue;
    float& logit = logits[token];
    logit = logit < 0 ? logit * float(penalty) : logit / float(penalty);
  }
}

int64_t NextToken::choose(std::span<const float> logits, CounterRandom& random) {
  if (choice_.temperature == 0)
    return std::distance(logits.begin(), std::ranges::max_element(logits));
  const auto size = std::ssize(logits);
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto is_likelier = [&](int32_t a, int32_t b) {
    const float x = logits[a], y = logits[b];
    return x != y ? x > y : a < b;
  };
  const int64_t kept = choice_.top_k > 0 ? std::min(choice_.top_k, size) : size;
  if (kept < size)
    std::nth_element(order_.begin(), order_.begin() + kept, order_.end(), is_likelier);
  order_.resize(kept);
  std::ranges::sort(order_, is_likelier);
  probabilities_.resize(kept);
  const double largest = logits[order_[0]];
  double sum = 0;
  for (size_t i = 0; i < probabilities_.size(); ++i) {
    probabilities_[i] = std::exp((double(logits[order_[i]]) - largest) / choice_.temperature);
    sum += probabilities_[i];
  }
  if (choice_.top_p < 1) {
    double share = 0;
    size_t count = 0;
    while (count < probabilities_.size() && share < choice_.top_p * sum)
      share += probabilities_[count++];
    probabilities_.resize(count);
    sum = share;
  }
  double left = random.uniform() * sum;
  for (size_t i = 0; i + 1 < probabilities_.size(); ++i) {
    left -= probabilities_[i];
    if (left < 0) return order_[i];
  }
  return order_[probabilities_.size() - 1];
}

}  // namespace ffkit
