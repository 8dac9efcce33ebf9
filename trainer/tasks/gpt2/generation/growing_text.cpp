#include "tasks/gpt2/generation/growing_text.h"

#include <algorithm>
#include <string_view>

namespace ffkit {

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
