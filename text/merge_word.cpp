#include <algorithm>
#include <array>
#include <queue>

#include "base/make_error.h"
#include "tokenizer_tables.h"

namespace ffkit::text {
namespace {

// A longer word is merged by way of a heap: looking for the best pair among all takes the square of
// their number.
constexpr size_t kShortWord = 40;

uint32_t token_of_byte(const Tokenizer::Tables& tables, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  const uint32_t token = tables.byte_tokens[value];
  if (token == kNoToken) {
    throw error_of(ErrorCode::invalid_argument,
                   "the byte 0x{:02x} is no token of the vocabulary, which has {} tokens; take a "
                   "tokenizer with all 256 bytes",
                   value, tables.tokens.size());
  }
  return token;
}

void merge_short(const Tokenizer::Tables& tables, std::string_view word,
                 std::vector<uint32_t>& ids) {
  std::array<uint32_t, kShortWord> parts;
  // Of part i and the next one. Ranks for themselves: the compiler compares several at once.
  std::array<uint32_t, kShortWord> ranks;
  std::array<uint32_t, kShortWord> made;
  const auto look_up = [&](size_t i) {
    const MergeTable::Merge merge = tables.merge_table.find(parts[i], parts[i + 1]);
    ranks[i] = merge.rank;
    made[i] = merge.token;
  };
  size_t count = word.size();
  for (size_t i = 0; i < count; ++i) parts[i] = token_of_byte(tables, word[i]);
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    uint32_t lowest = kNoToken;
    for (size_t i = 0; i + 1 < count; ++i) lowest = std::min(lowest, ranks[i]);
    if (lowest == kNoToken) break;
    size_t best = 0;
    while (ranks[best] != lowest) ++best;
    parts[best] = made[best];
    --count;
    for (size_t i = best + 1; i < count; ++i) parts[i] = parts[i + 1];
    for (size_t i = best; i + 1 < count; ++i) ranks[i] = ranks[i + 1];
    for (size_t i = best; i + 1 < count; ++i) made[i] = made[i + 1];
    if (best + 1 < count) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  ids.insert(ids.end(), parts.begin(), parts.begin() + count);
}

// Parts in a doubly linked list; the heap holds pairs that may be outdated since.
void merge_long(const Tokenizer::Tables& tables, std::string_view word,
                std::vector<uint32_t>& ids) {
  struct Part {
    uint32_t token;
    uint32_t previous;
    uint32_t next;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t position;
    uint32_t left;
    uint32_t right;
    uint32_t token;
    bool operator<(const Candidate& other) const {  // the top is the first of the lowest rank
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  if (word.size() >= kNoToken) {
    throw error_of(ErrorCode::unsupported,
                   "a word has {} bytes; cut the text into documents of less than 4 GiB",
                   word.size());
  }
  const auto count = static_cast<uint32_t>(word.size());
  std::vector<Part> parts(count);
  for (uint32_t i = 0; i < count; ++i) {
    parts[i] = {token_of_byte(tables, word[i]), i == 0 ? kNoToken : i - 1,
                i + 1 == count ? kNoToken : i + 1};
  }
  std::vector<Candidate> first;
  const auto candidate_at = [&](uint32_t i) -> Candidate {
    const uint32_t next = parts[i].next;
    const MergeTable::Merge merge = tables.merge_table.find(parts[i].token, parts[next].token);
    return {merge.rank, i, parts[i].token, parts[next].token, merge.token};
  };
  for (uint32_t i = 0; i + 1 < count; ++i) {
    if (const Candidate found = candidate_at(i); found.rank != kNoToken) first.push_back(found);
  }
  std::priority_queue<Candidate> heap(std::less<Candidate>{}, std::move(first));
  const auto offer = [&](uint32_t i) {
    if (i == kNoToken || parts[i].next == kNoToken) return;
    if (const Candidate found = candidate_at(i); found.rank != kNoToken) heap.push(found);
  };
  while (!heap.empty()) {
    const Candidate best = heap.top();
    heap.pop();
    Part& left = parts[best.position];
    if (left.token != best.left || left.next == kNoToken) continue;
    Part& right = parts[left.next];
    if (right.token != best.right) continue;
    left.token = best.token;
    right.token = kNoToken;  // no candidate fits it any more
    left.next = right.next;
    if (left.next != kNoToken) parts[left.next].previous = best.position;
    offer(left.previous);
    offer(best.position);
  }
  for (uint32_t i = 0; i != kNoToken; i = parts[i].next) ids.push_back(parts[i].token);
}

}  // namespace

void merge_word(const Tokenizer::Tables& tables, std::string_view word,
                std::vector<uint32_t>& ids) {
  if (word.empty()) return;
  if (tables.ignores_merges) {
    if (const auto found = tables.words.find(word); found != tables.words.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  if (tables.merges.empty()) {
    for (const char byte : word) ids.push_back(token_of_byte(tables, byte));
  } else if (word.size() <= kShortWord) {
    merge_short(tables, word, ids);
  } else {
    merge_long(tables, word, ids);
  }
}

}  // namespace ffkit::text
