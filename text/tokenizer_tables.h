// The tables of a tokenizer, immutable once they are made, and what makes them from a vocabulary
// and a list of merges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/text/tokenizer.h>

#include "words/pre_tokenizer.h"

namespace ffkit::text {

inline constexpr uint32_t kNoToken = std::numeric_limits<uint32_t>::max();

// The pairs of neighbours that are joined: an open-addressed hash table, 2 MB for GPT-2. Most pairs
// that are looked up are not in it. A bitmap of 128 KB, which stays in a core's cache, tells so for
// nine in ten.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = kNoToken;  // number in the list of merges; kNoToken: the pair is not joined
    uint32_t token = kNoToken;
  };

  void build(std::span<const std::pair<uint32_t, uint32_t>> pairs,
             std::span<const uint32_t> tokens);
  Merge find(uint32_t left, uint32_t right) const {
    const uint64_t key = uint64_t{left} << 32 | right;
    const uint64_t hash = hash_of(key);
    if ((seen_[(hash >> 6) & seen_mask_] >> (hash & 63) & 1) == 0) return {};
    for (size_t i = slot_of(hash);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].merge;
      if (slots_[i].key == kEmpty) return {};
    }
  }

 private:
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };
  static uint64_t hash_of(uint64_t key) { return (key * 0x9E3779B97F4A7C15U) >> 32; }
  size_t slot_of(uint64_t hash) const { return static_cast<size_t>(hash) & mask_; }

  std::vector<Slot> slots_ = std::vector<Slot>(1);
  size_t mask_ = 0;
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(1);  // a bit for each hash, of 16 a merge
  size_t seen_mask_ = 0;
};

struct WordHash {
  using is_transparent = void;
  size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
};

struct Tokenizer::Tables {
  std::vector<std::string> tokens;  // the bytes of each; the name of a special or added one
  std::vector<bool> is_special;
  std::vector<bool> is_only_added;  // in added_tokens, and not in the model's vocabulary
  std::vector<std::pair<uint32_t, uint32_t>> merges;  // in their order
  std::vector<uint32_t> merged;                       // the token that each makes
  bool ignores_merges = false;  // a word that is a token is that token, whatever the merges say
  bool splits_words = true;     // by GPT-2's pattern, behind all steps of `pre_tokenizer`
  std::vector<AddedToken> added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::vector<uint32_t> before, after;  // tokens around each document
  // The JSON of normalizer and of the steps of pre_tokenizer, with commas between them.
  std::string normalizer_json = "null", steps_json;

  // finish() makes what follows from the members above.
  std::array<uint32_t, 256> byte_tokens{};
  MergeTable merge_table;
  uint32_t end_of_text = kNoToken;
  std::string fingerprint;
  AddedTokens early, late;                  // looked for before the normalizer, and behind it
  AddedTokens early_special, late_special;  // the same if texts make special tokens, too
  bool is_plain = true;                     // a text is one piece
  bool keeps_bytes = false;                 // that are not UTF-8
  std::unordered_map<std::string, uint32_t, WordHash, std::equal_to<>> words;  // for ignores_merges

  void finish();
  // Whether texts make added tokens that are not special.
  bool matches_added() const;
  // Parts of a tokenizer.json that GPT-2's does not have; empty: all is as in GPT-2's.
  std::string settings_json() const;
};

// Gets what a text is cut into, one after the other.
class TextSink : public PieceSink {
 public:
  virtual void add_token(uint32_t id) = 0;
};
// Cuts `text`, valid UTF-8, into added tokens and pieces. If the tables say so, GPT-2's pattern
// cuts the pieces into words.
void cut_text(const Tokenizer::Tables& tables, std::string_view text, TextSink& sink,
              SpecialTokens special = SpecialTokens::as_text);

// The bytes of a token's text (GPT-2's bytes_to_unicode): a printable character of Latin-1 stands
// for its byte, U+0100 .. U+0143 for the other 68 bytes.
std::string text_of_bytes(std::string_view bytes);

// Merges the bytes of `word` and appends the tokens. Throws Error(invalid_argument) if one of the
// bytes is no token.
void merge_word(const Tokenizer::Tables& tables, std::string_view word, std::vector<uint32_t>& ids);

// An added token as tokenizer.json has it.
std::string added_token_json(const AddedToken& token);
// What tokenizer.json says beside vocabulary and merges (tokenizer_parts.cpp). Throws
// Error(unsupported) for what is not known, and names it.
void read_parts(const nlohmann::json& json, Tokenizer::Tables& tables,
                const std::filesystem::path& path);
// Its added tokens, without their numbers.
AddedToken read_added_token(const nlohmann::json& json, const std::filesystem::path& path);

// The three forms of files, `path` as Tokenizer::open() describes it.
Tokenizer::Tables read_tokenizer_files(const std::filesystem::path& path);
Tokenizer::Tables parse_tokenizer_json(std::string_view json, const std::filesystem::path& name);
std::string to_tokenizer_json(const Tokenizer::Tables& tables);

// VocabularyBuilder: the vocabulary and the list of merges of all tokenizer files, checked while
// they are read; and the members of a tokenizer.json, those refused that are not known.
// Throws Error(corrupt) for text that is no JSON.
nlohmann::json parse_json(std::string_view text, const std::filesystem::path& path);
void require_object(const nlohmann::json& json, const std::filesystem::path& path,
                    const char* what);

// A member of a tokenizer.json; null where there is none.
const nlohmann::json& member(const nlohmann::json& object, const char* name);
// Whether it is null, false, "" or 0.
bool is_off(const nlohmann::json& value);
// Throws Error(unsupported): the file has `what`.
[[noreturn]] void refuse_kind(const std::filesystem::path& path, const std::string& what);
// Refuses a member of `object` that is none of `names` and not off. `place`: "the model".
void require_known(const nlohmann::json& object, std::initializer_list<const char*> names,
                   const std::string& place, const std::filesystem::path& path);

// Tokens by their texts and numbers, until all numbers are there.
class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(const std::filesystem::path& path) : path_(path) {}

  // Of the model.
  void add(const std::string& text, const nlohmann::json& id);
  // A token behind all of the model. Its text stands for itself.
  void add(AddedToken token, const nlohmann::json& id);
  // The token with this text; kNoToken without one.
  uint32_t id_of(const std::string& text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoToken : found->second;
  }
  size_t size() const { return texts_.size(); }

  // `tells_special`: whether a file says which tokens are special.
  Tokenizer::Tables finish(std::vector<std::pair<uint32_t, uint32_t>> merges,
                           std::vector<uint32_t> merged, bool tells_special);

 private:
  static constexpr uint64_t kMaxId = (1 << 24) - 1;
  uint32_t number_of(const std::string& text, const nlohmann::json& id) const;
  void set(uint32_t number, const std::string& text);

  const std::filesystem::path& path_;
  std::vector<std::string> texts_;
  std::vector<bool> is_there_, is_special_, is_only_added_;
  std::vector<AddedToken> added_;
  size_t num_of_model_ = 0;
  uint32_t next_added_ = 0;  // number of the next added token
  std::unordered_map<std::string, uint32_t> ids_;
};

class MergeList {
 public:
  MergeList(const VocabularyBuilder& vocabulary, const std::filesystem::path& path)
      : vocabulary_(vocabulary), path_(path) {}

  // `place`: for errors, "line 3".
  void add(const std::string& left, const std::string& right, const std::string& place);
  // "Ġ t"
  void add(std::string_view text, const std::string& place);

  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  std::vector<uint32_t> merged;

 private:
  const VocabularyBuilder& vocabulary_;
  const std::filesystem::path& path_;
};

}  // namespace ffkit::text
