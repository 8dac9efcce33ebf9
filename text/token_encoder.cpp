#include <cstring>
#include <span>

#include <ffkit/text/tokenizer.h>

#include "tokenizer_tables.h"
#include "words/characters.h"
#include "words/pre_tokenizer.h"

namespace ffkit::text {
namespace {

uint64_t load_word(const char* p) {
  uint64_t value = 0;
  std::memcpy(&value, p, sizeof value);
  return value;
}

uint64_t load_half(const char* p) {
  uint32_t value = 0;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// The last 1 .. 7 bytes of a word.
uint64_t load_rest(const char* p, size_t n) {
  if (n >= 4) return load_half(p) | load_half(p + n - 4) << 32;
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
  for (; n >= 8; p += 8, n -= 8) hash = mix_word(hash ^ load_word(p), 0xBF58476D1CE4E5B9U);
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
      const size_t mask = slots.size() - 1;
      for (const Slot& slot : old) {
        if (slot.num_bytes == 0) continue;
        size_t i = slot.hash & mask;
        while (slots[i].num_bytes != 0) i = (i + 1) & mask;
        slots[i] = slot;
      }
    }
    find(word, hash) = {hash, static_cast<uint32_t>(bytes.size()),
                        static_cast<uint32_t>(ids.size()), static_cast<uint16_t>(word.size()),
                        static_cast<uint16_t>(tokens.size())};
    bytes += word;
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    ++num_words;
  }
};

TokenEncoder::TokenEncoder(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)), cache_(std::make_unique<Cache>()) {}
TokenEncoder::~TokenEncoder() = default;
TokenEncoder::TokenEncoder(TokenEncoder&&) noexcept = default;
TokenEncoder& TokenEncoder::operator=(TokenEncoder&&) noexcept = default;

// Words of a piece, of which the cache knows the tokens or gets to know them.
class TokenEncoder::Sink final : public TextSink {
 public:
  Sink(const Tokenizer::Tables& tables, Cache& cache, std::vector<uint32_t>& ids)
      : tables_(tables), cache_(cache), ids_(ids) {}

  void add(std::string_view piece) override {
    if (!tables_.splits_words) return add_word(piece);
    for (WordSplitter words(piece); !words.is_at_end();) add_word(words.next());
  }
  void add_token(uint32_t id) override { ids_.push_back(id); }

 private:
  void add_word(std::string_view word) {
    if (word.size() > kMaxWordBytes) return merge_word(tables_, word, ids_);
    const uint64_t hash = hash_of_word(word);
    const Cache::Slot& slot = cache_.find(word, hash);
    if (slot.num_bytes != 0) {
      const uint32_t* known = cache_.ids.data() + slot.ids_begin;
      ids_.insert(ids_.end(), known, known + slot.num_ids);
      return;
    }
    const size_t before = ids_.size();
    merge_word(tables_, word, ids_);
    cache_.add(word, hash, std::span(ids_).subspan(before));
  }

  const Tokenizer::Tables& tables_;
  Cache& cache_;
  std::vector<uint32_t>& ids_;
};

void TokenEncoder::encode(std::string_view text, std::vector<uint32_t>& ids) {
  const Tokenizer::Tables& tables = *tokenizer_.tables_;
  if (tables.keeps_bytes) return merge_word(tables, text, ids);
  std::string valid;
  if (!is_valid_utf8(text)) text = valid = with_replacements(text);
  Sink sink(tables, *cache_, ids);
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
