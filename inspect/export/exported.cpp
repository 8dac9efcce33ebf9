#include "export/exported.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace ffkit {

std::string ExportNote::text(bool is_whole) const {
  if (items.empty()) return sentence;
  constexpr size_t kMaxShown = 4;
  const size_t num_shown = is_whole ? items.size() : std::min(items.size(), kMaxShown);
  std::string text =
      fmt::format("{}: {}", sentence, fmt::join(std::span(items).first(num_shown), "; "));
  if (num_shown < items.size()) {
    text += fmt::format("; and {} others, which --json names", items.size() - num_shown);
  }
  return text;
}

}  // namespace ffkit
