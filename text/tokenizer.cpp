#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <queue>
#include <span>
#include <utility>

#include <ffkit/text/tokenizer.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "tokenizer_tables.h"
#include "words/characters.h"
#include "words/pre_tokenizer.h"

namespace ffkit::text {

namespace fs = std::filesystem;

namespace {

// The words of the pieces, each turned into tokens by merge(tables, word, ids).
template <typename Merge>
class WordSink final : public TextSink {
 public:
  WordSink(const Tokenizer::Tables& tables, std::vector<uint32_t>& ids, Merge merge)
      : tables_(tables), ids_(ids), merge_(std::move(merge)) {}

  void add(std::string_view piece) override {
    if (!tables_.splits_words) return merge_(tables_, piece, ids_);
    for (WordSplitter words(piece); !words.is_at_end();) merge_(tables_, words.next(), ids_);
  }
  void add_token(uint32_t id) override { ids_.push_back(id); }

 private:
  const Tokenizer::Tables& tables_;
  std::vector<uint32_t>& ids_;
  Merge merge_;
};

}  // namespace

Tokenizer Tokenizer::open(const fs::path& path) {
  if (path == "bytes" && !fs::exists(path)) return bytes();
  return Tokenizer(std::make_shared<const Tables>(read_tokenizer_files(path)));
}

Tokenizer Tokenizer::bytes() {
  Tables tables;
  for (int byte = 0; byte < 256; ++byte) tables.tokens.emplace_back(1, static_cast<char>(byte));
  tables.tokens.emplace_back("<|endoftext|>");
  tables.is_special.resize(257);
  tables.is_special[256] = true;
  tables.splits_words = false;
  tables.finish();
  return Tokenizer(std::make_shared<const Tables>(std::move(tables)));
}

Tokenizer Tokenizer::from_json(std::string_view json, const fs::path& name) {
  return Tokenizer(std::make_shared<const Tables>(parse_tokenizer_json(json, name)));
}

std::string Tokenizer::to_json() const {
  return to_tokenizer_json(*tables_);
}

int64_t Tokenizer::vocabulary_size() const noexcept {
  return std::ssize(tables_->tokens);
}

uint32_t Tokenizer::end_of_text() const {
  if (!has_end_of_text()) {
    throw Error(ErrorCode::not_found,
                "the vocabulary has no end-of-text token, which would be <|endoftext|>, "
                "<|end_of_text|> or </s>");
  }
  return tables_->end_of_text;
}

bool Tokenizer::has_end_of_text() const noexcept {
  return tables_->end_of_text != kNoToken;
}

const std::string& Tokenizer::fingerprint() const noexcept {
  return tables_->fingerprint;
}

void Tokenizer::encode(std::string_view text, std::vector<uint32_t>& ids,
                       SpecialTokens special) const {
  std::string valid;
  if (!tables_->keeps_bytes && !is_valid_utf8(text)) text = valid = with_replacements(text);
  WordSink sink(*tables_, ids, merge_word);
  cut_text(*tables_, text, sink, special);
}

const std::vector<uint32_t>& Tokenizer::before_document() const noexcept {
  return tables_->before;
}

const std::vector<uint32_t>& Tokenizer::after_document() const noexcept {
  return tables_->after;
}

std::string Tokenizer::document_note() const {
  const auto names = [this](const std::vector<uint32_t>& ids) {
    std::string all;
    for (const uint32_t id : ids) all += (all.empty() ? "" : " ") + printable(token_bytes(id));
    return all;
  };
  const std::string before = names(tables_->before), after = names(tables_->after);
  if (before.empty() && after.empty()) return {};
  return fmt::format("each document {}{}{}{}, according to the post_processor of the tokenizer",
                     before.empty() ? "" : "begins with " + before,
                     before.empty() || after.empty() ? "" : " and ",
                     after.empty() ? "" : "ends with ", after);
}

bool Tokenizer::keeps_bytes() const noexcept {
  return tables_->keeps_bytes;
}

std::string_view Tokenizer::token_bytes(uint32_t id) const {
  if (id >= tables_->tokens.size()) {
    throw error_of(ErrorCode::invalid_argument, "token {} is not in the vocabulary of {} tokens",
                   id, tables_->tokens.size());
  }
  return tables_->tokens[id];
}

bool Tokenizer::is_special(uint32_t id) const {
  return id < tables_->tokens.size() && tables_->is_special[id];
}

std::string Tokenizer::decode(std::span<const uint32_t> ids) const {
  std::string bytes;
  for (const uint32_t id : ids) bytes += token_bytes(id);
  return bytes;
}

std::string TokenDecoder::add_bytes(std::string_view bytes) {
  begun_ += bytes;
  std::string text;
  std::string_view rest = begun_;
  while (!rest.empty()) {
    const Utf8Part part = first_part(rest);
    if (part.kind == Utf8Kind::begun) break;
    text += part.kind == Utf8Kind::character ? rest.substr(0, part.length) : kReplacement;
    rest.remove_prefix(part.length);
  }
  begun_.erase(0, begun_.size() - rest.size());
  return text;
}

std::string TokenDecoder::finish() {
  const bool is_begun = !std::exchange(begun_, {}).empty();
  return std::string(is_begun ? kReplacement : "");
}

namespace {

// A longer word is merged by way of a heap: looking for the best pair among all takes the square of
// their number.
constexpr size_t kShortWord = 40;

uint32_t token_of_byte(const Tokenizer::Tables& tables, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  const uint32_t token = tables.byte_tokens[value];
  if (token == kNoToken) {
    throw error_of(ErrorCode::invalid_argument,
                   "the byte 0x{:02x} is not a token of the vocabulary, which has {} tokens; use a "
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
                   "a word has {} bytes; split the text into documents of less than 4 GiB",
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

namespace {

template <typename T>
uint64_t load(const char* p) {
  T value = 0;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// The last 1 .. 7 bytes of a word.
uint64_t load_rest(const char* p, size_t n) {
  if (n >= 4) return load<uint32_t>(p) | load<uint32_t>(p + n - 4) << 32;
  const auto byte = [p](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])}; };
  return byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16;
}

uint64_t mix_word(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_of_word(std::string_view word) {
  const char* p = word.data();
  size_t n = word.size();
  uint64_t hash = 0x9E3779B97F4A7C15U ^ n;
  for (; n >= 8; p += 8, n -= 8) hash = mix_word(hash ^ load<uint64_t>(p), 0xBF58476D1CE4E5B9U);
  if (n > 0) hash = mix_word(hash ^ load_rest(p, n), 0x94D049BB133111EBU);
  return hash;
}

constexpr size_t kMaxWordBytes = 64;         // of a word that is kept
constexpr size_t kMaxWords = 1 << 18;        // all of them are forgotten beyond that
constexpr size_t kMaxCacheBytes = 12 << 20;  // the same, of words and tokens

}  // namespace

// Words and their tokens in an open-addressed hash table; bytes and tokens lie in two arrays.
struct TokenEncoder::Cache {
  struct Slot {
    uint64_t hash = 0;
    uint32_t bytes_begin = 0;
    uint32_t ids_begin = 0;
    uint16_t num_bytes = 0;  // 0: the slot is free
    uint16_t num_ids = 0;
  };
  std::vector<Slot> slots = std::vector<Slot>(1 << 12);
  size_t num_words = 0;
  std::string bytes;
  std::vector<uint32_t> ids;

  // The word's slot, or the free one where it belongs.
  Slot& find(std::string_view word, uint64_t hash) {
    const size_t mask = slots.size() - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      Slot& slot = slots[i];
      if (slot.num_bytes == 0) return slot;
      if (slot.hash == hash && slot.num_bytes == word.size() &&
          std::memcmp(bytes.data() + slot.bytes_begin, word.data(), word.size()) == 0) {
        return slot;
      }
    }
  }

  void add(std::string_view word, uint64_t hash, std::span<const uint32_t> tokens) {
    if (num_words == kMaxWords || bytes.size() + 4 * ids.size() > kMaxCacheBytes) {
      slots.assign(slots.size(), Slot{});
      num_words = 0;
      bytes.clear();
      ids.clear();
    } else if (2 * num_words == slots.size()) {
      std::vector<Slot> old(2 * slots.size());
      old.swap(slots);
      for (const Slot& slot : old) {
        if (slot.num_bytes == 0) continue;
        find(std::string_view(bytes).substr(slot.bytes_begin, slot.num_bytes), slot.hash) = slot;
      }
    }
    find(word, hash) = {hash, static_cast<uint32_t>(bytes.size()),
                        static_cast<uint32_t>(ids.size()), static_cast<uint16_t>(word.size()),
                        static_cast<uint16_t>(tokens.size())};
    bytes += word;
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    ++num_words;
  }

  // As merge_word(), with words whose tokens are known or get known.
  void merge(const Tokenizer::Tables& tables, std::string_view word, std::vector<uint32_t>& out) {
    if (word.size() > kMaxWordBytes) return merge_word(tables, word, out);
    const uint64_t hash = hash_of_word(word);
    if (const Slot& slot = find(word, hash); slot.num_bytes != 0) {
      const uint32_t* known = ids.data() + slot.ids_begin;
      out.insert(out.end(), known, known + slot.num_ids);
      return;
    }
    const size_t before = out.size();
    merge_word(tables, word, out);
    add(word, hash, std::span(out).subspan(before));
  }
};

TokenEncoder::TokenEncoder(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)), cache_(std::make_unique<Cache>()) {}
TokenEncoder::~TokenEncoder() = default;
TokenEncoder::TokenEncoder(TokenEncoder&&) noexcept = default;
TokenEncoder& TokenEncoder::operator=(TokenEncoder&&) noexcept = default;

void TokenEncoder::encode(std::string_view text, std::vector<uint32_t>& ids) {
  const Tokenizer::Tables& tables = *tokenizer_.tables_;
  if (tables.keeps_bytes) return merge_word(tables, text, ids);
  std::string valid;
  if (!is_valid_utf8(text)) text = valid = with_replacements(text);
  WordSink sink(tables, ids, [this](auto&&... word) { cache_->merge(word...); });
  cut_text(tables, text, sink);
}

void TokenEncoder::encode_document(std::string_view text, uint32_t end_of_text,
                                   std::vector<uint32_t>& ids) {
  const Tokenizer::Tables& tables = *tokenizer_.tables_;
  const size_t before = ids.size();
  ids.insert(ids.end(), tables.before.begin(), tables.before.end());
  const size_t begin = ids.size();
  try {
    encode(text, ids);
  } catch (...) {
    ids.resize(before);
    throw;
  }
  if (ids.size() == begin) return ids.resize(before);
  ids.insert(ids.end(), tables.after.begin(), tables.after.end());
  if (!tables.after.empty() && ids.back() == end_of_text) ids.pop_back();
}

}  // namespace ffkit::text
