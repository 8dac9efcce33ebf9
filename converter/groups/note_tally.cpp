#include "groups/note_tally.h"

#include <fmt/format.h>

#include <algorithm>

namespace ffkit {
namespace {

bool has_digit(std::string_view word) {
  return std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// Calls use(word) for each word that is not in quotes.
template <typename Use>
void for_words(std::string_view sentence, const Use& use) {
  bool is_quoted = false;
  while (!sentence.empty()) {
    const size_t length = std::min(sentence.find(' '), sentence.size());
    const std::string_view word = sentence.substr(0, length);
    const bool begins_in_quotes = is_quoted;
    is_quoted = is_quoted != (std::ranges::count(word, '\'') % 2 == 1);
    if (!begins_in_quotes && word.find('\'') == std::string_view::npos) use(word);
    sentence.remove_prefix(std::min(length + 1, sentence.size()));
  }
}

}  // namespace

NoteTally::Seen& NoteTally::seen(const std::string& sentence, bool& is_new) {
  std::string kind;
  bool has_numbers = false;
  for_words(sentence, [&](std::string_view word) {
    if (word.find('/') != std::string_view::npos) return;
    has_numbers = has_numbers || has_digit(word);
    if (!has_digit(word)) kind += fmt::format("{} ", word);
  });
  const auto [found, is_inserted] = seen_.try_emplace(kind);
  is_new = is_inserted;
  if (is_new) found->second = {.first = sentence, .last = sentence, .has_numbers = has_numbers};
  return found->second;
}

void NoteTally::know(const std::string& sentence) {
  bool is_new = false;
  seen(sentence, is_new);
}

void NoteTally::add(const std::string& sentence) {
  bool is_new = false;
  Seen& of_kind = seen(sentence, is_new);
  if (is_new && note_) note_(sentence);
  ++of_kind.num_groups;
  of_kind.has_other_words = of_kind.has_other_words || sentence != of_kind.first;
  of_kind.last = sentence;
}

void NoteTally::finish() {
  for (const auto& [kind, seen] : seen_) {
    const bool is_news = seen.has_other_words || (seen.num_groups > 1 && seen.has_numbers);
    if (note_ && is_news) {
      note_(fmt::format("so or the like of {} {} of files: {}", seen.num_groups,
                        seen.num_groups == 1 ? "group" : "groups", seen.last));
    }
  }
  seen_.clear();
}

}  // namespace ffkit
