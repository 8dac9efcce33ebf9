#include "added_tokens.h"

#include <algorithm>

namespace ffkit::text {
namespace {

bool has_flag(const char* p, uint8_t flag) {
  return (character_table()[character_at(p).code] & flag) != 0;
}

bool is_space(const char* p) {
  return (kSpaces >> (character_table()[character_at(p).code] & 31) & 1) != 0;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool normalized,
                         const Normalizer& normalizer, bool special)
    : takes_special_(special) {
  std::string buffer;
  for (const AddedToken& token : tokens) {
    if (token.is_normalized != normalized) continue;
    const std::string_view text =
        normalized ? normalizer.apply(token.content, buffer) : token.content;
    if (text.empty()) continue;
    entries_.push_back({std::string(text), token});
    begins_[static_cast<unsigned char>(text[0])] = true;
  }
  // Of several with the same text the first one counts.
  std::ranges::stable_sort(entries_, {}, &Entry::looked_for);
  const auto has_same_text = [](const Entry& a, const Entry& b) {
    return a.looked_for == b.looked_for;
  };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), has_same_text), entries_.end());
}

const AddedTokens::Entry* AddedTokens::longest_at(std::string_view rest) const {
  const Entry* longest = nullptr;
  auto begin = entries_.begin(), end = entries_.end();
  for (size_t i = 0; i < rest.size() && begin != end; ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    // Those that go on with this byte; a text that ends here is before all others.
    const auto next = [i](const Entry& entry) {
      return entry.looked_for.size() <= i ? -1
                                          : int{static_cast<unsigned char>(entry.looked_for[i])};
    };
    begin = std::partition_point(begin, end, [&](const Entry& e) { return next(e) < byte; });
    end = std::partition_point(begin, end, [&](const Entry& e) { return next(e) <= byte; });
    if (begin != end && begin->looked_for.size() == i + 1) longest = &*begin;
  }
  return longest;
}

void AddedTokens::split(std::string_view text, std::vector<TextPart>& parts) const {
  const char* const first = text.data();
  const char* const last = first + text.size();
  const char* done = first;
  for (const char* p = first; p != last;) {
    if (!begins_[static_cast<unsigned char>(*p)]) {
      ++p;
      continue;
    }
    const Entry* entry = longest_at({p, last});
    if (entry == nullptr) {
      ++p;
      continue;
    }
    const AddedToken& token = entry->token;
    const char* begin = p;
    const char* end = p + entry->looked_for.size();
    p = end;  // also where the token does not count: nothing within it is looked for
    if (token.is_special && !takes_special_) continue;
    if (token.is_word && ((begin != first && has_flag(character_before(begin), kWordCharacter)) ||
                          (end != last && has_flag(end, kWordCharacter)))) {
      continue;
    }
    if (token.strips_left) {
      while (begin > done && is_space(character_before(begin))) begin = character_before(begin);
    }
    if (token.strips_right) {
      while (end != last && is_space(end)) end += character_at(end).length;
    }
    if (done < begin) parts.push_back({{done, begin}});
    parts.push_back({{begin, end}, &token});
    done = end;
  }
  if (done != last) parts.push_back({{done, last}});
}

}  // namespace ffkit::text
