#include "tasks/gpt2/generation/stop_strings.h"

#include <algorithm>

namespace ffkit {

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

}  // namespace ffkit
