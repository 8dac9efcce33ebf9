#include "tasks/gpt2/generation/generated_text.h"

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
    logit = logit < 0 ? logit * static_cast<float>(penalty) : logit / static_cast<float>(penalty);
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
    probabilities_[i] = std::exp((logits[order_[i]] - largest) / choice_.temperature);
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

std::optional<StopStrings::Match> StopStrings::find(std::string_view text, size_t num_new) const {
  std::optional<Match> first;
  const size_t known = text.size() - num_new;
  for (const std::string& stop : texts_) {
    // One that ends by `known` was there before.
    const size_t at = text.find(stop, known + 1 > stop.size() ? known + 1 - stop.size() : 0);
    if (at == std::string_view::npos || (first && first->begin <= at)) continue;
    first = {.begin = at, .text = stop};
  }
  return first;
}

size_t StopStrings::num_begun(std::string_view text) const {
  size_t most = 0;
  for (const std::string& stop : texts_) {
    for (size_t n = std::min(stop.size() - 1, text.size()); n > most; --n) {
      if (text.ends_with(std::string_view(stop).substr(0, n))) most = n;
    }
  }
  return most;
}

GrowingText::GrowingText(const text::Tokenizer& tokenizer, const StopStrings& stops,
                         bool hides_stop, std::span<const uint32_t> prompt)
    : tokenizer_(tokenizer),
      stops_(stops),
      hides_stop_(hides_stop),
      bytes_(tokenizer.decode(prompt)),
      prompt_size_(bytes_.size()),
      decoder_(tokenizer) {
  show(prompt_size_);
}

void GrowingText::add(uint32_t token, bool is_end) {
  const std::string_view bytes = tokenizer_.token_bytes(token);
  bytes_ += bytes;
  const std::optional<StopStrings::Match> match = stops_.find(bytes_, bytes.size());
  if (match) stop_ = match->text;
  if (match && hides_stop_) {
    bytes_.resize(std::max(match->begin, prompt_size_));
  } else if (is_end && tokenizer_.is_special(token)) {
    bytes_.resize(bytes_.size() - bytes.size());
  }
  const size_t held = hides_stop_ && !match ? stops_.num_begun(bytes_) : 0;
  show(bytes_.size() - held);
}

void GrowingText::finish() {
  show(bytes_.size());
  text_ += decoder_.finish();
}

void GrowingText::show(size_t end) {
  // What a stop string might begin with may reach back into the prompt.
  if (end <= num_shown_) return;
  text_ += decoder_.add_bytes(std::string_view(bytes_).substr(num_shown_, end - num_shown_));
  num_shown_ = end;
}

}  // namespace ffkit
