#include "tokenizer_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include <nlohmann/json.hpp>

#include "base/fnv.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit::text {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

// Bytes that stand for themselves: '!' .. '~', U+00A1 .. U+00AC, U+00AE .. U+00FF.
constexpr bool is_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<uint16_t, 256> characters_of_bytes() {
  std::array<uint16_t, 256> characters{};
  uint16_t next = 0x100;
  for (uint16_t byte = 0; byte < 256; ++byte) {
    characters[byte] = is_itself(byte) ? byte : next++;
  }
  return characters;
}
constexpr std::array<uint16_t, 256> kCharacters = characters_of_bytes();

constexpr std::array<int16_t, 0x144> bytes_of_characters() {
  std::array<int16_t, 0x144> bytes{};
  for (int16_t& byte : bytes) byte = -1;
  for (int16_t byte = 0; byte < 256; ++byte) bytes[kCharacters[byte]] = byte;
  return bytes;
}
constexpr std::array<int16_t, 0x144> kBytes = bytes_of_characters();

uint64_t hash_text(std::string_view text, uint64_t hash) {
  const auto length = static_cast<uint32_t>(text.size());
  hash = fnv1a64(std::as_bytes(std::span(&length, 1)), hash);
  return fnv1a64(std::as_bytes(std::span(text)), hash);
}

// The inverse of text_of_bytes(). False if `text` has another character.
bool bytes_of_text(std::string_view text, std::string& bytes) {
  bytes.clear();
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    uint32_t c = lead;
    if (lead >= 0x80) {
      if (lead < 0xC2 || lead > 0xC5 || i == text.size()) return false;
      c = (lead & 0x1FU) << 6 | (static_cast<unsigned char>(text[i++]) & 0x3FU);
    }
    if (c >= kBytes.size() || kBytes[c] < 0) return false;
    bytes += static_cast<char>(kBytes[c]);
  }
  return true;
}

}  // namespace

std::string text_of_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const uint16_t c = kCharacters[static_cast<unsigned char>(byte)];
    if (c < 0x80) {
      text += static_cast<char>(c);
    } else {
      text += static_cast<char>(0xC0 | c >> 6);
      text += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return text;
}

void MergeTable::build(std::span<const std::pair<uint32_t, uint32_t>> pairs,
                       std::span<const uint32_t> tokens) {
  slots_.assign(std::bit_ceil(2 * pairs.size() + 1), Slot{});
  mask_ = slots_.size() - 1;
  seen_.assign(std::bit_ceil(pairs.size() / 4 + 1), 0);
  seen_mask_ = seen_.size() - 1;
  for (size_t rank = 0; rank < pairs.size(); ++rank) {
    const uint64_t key = uint64_t{pairs[rank].first} << 32 | pairs[rank].second;
    const uint64_t hash = hash_of(key);
    seen_[(hash >> 6) & seen_mask_] |= uint64_t{1} << (hash & 63);
    size_t i = slot_of(hash);
    while (slots_[i].key != kEmpty && slots_[i].key != key) i = (i + 1) & mask_;
    // Of a pair that is listed twice the last place counts, as in Hugging Face's.
    slots_[i] = {key, {static_cast<uint32_t>(rank), tokens[rank]}};
  }
}

void Tokenizer::Tables::finish() {
  byte_tokens.fill(kNoToken);
  is_only_added.resize(tokens.size());
  uint64_t hash = kFnvBasis;
  for (size_t id = 0; id < tokens.size(); ++id) {
    hash = hash_text(tokens[id], hash);
    if (is_special[id]) {
      hash = hash_text("special", hash);
    } else if (tokens[id].size() == 1 && !is_only_added[id]) {
      byte_tokens[static_cast<unsigned char>(tokens[id][0])] = static_cast<uint32_t>(id);
    }
  }
  for (const auto& pair : merges) hash = fnv1a64(std::as_bytes(std::span(&pair, 1)), hash);
  hash = hash_text(splits_words ? "words" : "text", hash);
  if (const std::string settings = settings_json(); !settings.empty()) {
    hash = hash_text(settings, hash);
  }
  fingerprint = fmt::format("{:016x}", hash);
  merge_table.build(merges, merged);
  for (const std::string_view name : {"<|endoftext|>", "<|end_of_text|>", "</s>"}) {
    const auto found = std::ranges::find(tokens, name);
    if (found == tokens.end()) continue;
    end_of_text = static_cast<uint32_t>(found - tokens.begin());
    break;
  }
  if (matches_added()) {
    early = AddedTokens(added, false, normalizer);
    late = AddedTokens(added, true, normalizer);
  }
  std::vector<AddedToken> all = added;
  for (size_t id = 0; id < tokens.size(); ++id) {
    // Of files that do not list them.
    if (!is_special[id] || std::ranges::find(added, id, &AddedToken::id) != added.end()) continue;
    all.push_back({.id = static_cast<uint32_t>(id), .content = tokens[id], .is_special = true});
  }
  early_special = AddedTokens(all, false, normalizer, true);
  late_special = AddedTokens(all, true, normalizer, true);
  is_plain = !matches_added() && normalizer.steps.empty() && pre_tokenizer.steps.empty() &&
             !pre_tokenizer.adds_prefix_space;
  keeps_bytes = is_plain && !splits_words && merges.empty();
  if (!ignores_merges) return;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!is_special[id] && !is_only_added[id]) words.emplace(tokens[id], id);
  }
}

bool Tokenizer::Tables::matches_added() const {
  return std::ranges::any_of(added, [](const AddedToken& token) { return !token.is_special; });
}

std::string Tokenizer::Tables::settings_json() const {
  std::string settings;
  if (normalizer_json != "null") settings += "normalizer" + normalizer_json;
  if (!steps_json.empty()) settings += "steps" + steps_json;
  if (pre_tokenizer.adds_prefix_space) settings += "add_prefix_space";
  if (ignores_merges) settings += "ignore_merges";
  if (!before.empty() || !after.empty()) {
    settings += fmt::format("around {} {}", fmt::join(before, ","), fmt::join(after, ","));
  }
  if (matches_added()) {
    for (const AddedToken& token : added) settings += added_token_json(token);
  }
  return settings;
}

void cut_text(const Tokenizer::Tables& tables, std::string_view text, TextSink& sink,
              SpecialTokens special) {
  if (text.empty()) return;
  const bool takes_special = special == SpecialTokens::as_tokens;
  if (tables.is_plain && !takes_special) return sink.add(text);
  const AddedTokens& early = takes_special ? tables.early_special : tables.early;
  const AddedTokens& late = takes_special ? tables.late_special : tables.late;
  // As Hugging Face's: tokens that are no matter of the normalizer first, what is left is
  // normalised, then the other tokens, then the steps of the pre-tokenizer.
  std::vector<TextPart> parts, inner;
  std::string buffer;
  early.split(text, parts);
  for (const TextPart& part : parts) {
    if (part.token != nullptr) {
      sink.add_token(part.token->id);
      continue;
    }
    inner.clear();
    late.split(tables.normalizer.apply(part.text, buffer), inner);
    for (const TextPart& piece : inner) {
      if (piece.token != nullptr) {
        sink.add_token(piece.token->id);
      } else {
        tables.pre_tokenizer.split(piece.text, sink);
      }
    }
  }
}

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

bool is_off(const Json& value) {
  return value.is_null() || value == false || value == "" || value == 0;
}

void refuse_kind(const std::filesystem::path& path, const std::string& what) {
  throw error_at(path, ErrorCode::unsupported,
                 "the tokenizer has {}, which ffkit does not support; use a byte-level BPE "
                 "tokenizer, like the tokenizers of GPT-2, Llama 3 and Qwen",
                 printable(what));
}

void require_known(const Json& object, std::initializer_list<const char*> names,
                   const std::string& place, const std::filesystem::path& path) {
  for (const auto& item : object.items()) {
    const bool is_known =
        std::ranges::any_of(names, [&](const char* name) { return item.key() == name; });
    if (!is_known && !is_off(item.value())) {
      refuse_kind(path, fmt::format("'{}' in {}", item.key(), place));
    }
  }
}

Json parse_json(std::string_view text, const fs::path& path) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw error_at(path, ErrorCode::corrupt, "the file is not valid JSON: {}; download it again",
                   printable(error.what()));
  }
}

void require_object(const Json& json, const fs::path& path, const char* what) {
  if (json.is_object()) return;
  throw error_at(path, ErrorCode::corrupt, "{} is not a JSON object", what);
}

uint32_t VocabularyBuilder::number_of(const std::string& text, const Json& id) const {
  if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId) {
    throw error_at(path_, ErrorCode::corrupt,
                   "the number of token '{}' is {}, but must be from 0 to {}", printable(text),
                   id.dump(), kMaxId);
  }
  return id.get<uint32_t>();
}

void VocabularyBuilder::set(uint32_t number, const std::string& text) {
  if (number >= texts_.size()) {
    texts_.resize(number + 1);
    is_there_.resize(number + 1);
    is_special_.resize(number + 1);
    is_only_added_.resize(number + 1);
  }
  if (is_there_[number] && texts_[number] != text) {
    throw error_at(path_, ErrorCode::corrupt, "the tokens '{}' and '{}' have the same number {}",
                   printable(texts_[number]), printable(text), number);
  }
  is_there_[number] = true;
  texts_[number] = text;
  ids_[text] = number;
}

void VocabularyBuilder::add(const std::string& text, const Json& id) {
  set(number_of(text, id), text);
  ++num_of_model_;
}

void VocabularyBuilder::add(AddedToken token, const Json& id) {
  token.id = number_of(token.content, id);
  const uint32_t known = id_of(token.content);
  next_added_ = std::max(next_added_, static_cast<uint32_t>(num_of_model_));
  const uint32_t given = known == kNoToken ? next_added_ : known;
  if (given != token.id) {
    throw error_at(path_, ErrorCode::corrupt,
                   "the added token '{}' has the number {}, but Hugging Face gives it the "
                   "number {}; write the file again with Hugging Face's tokenizers",
                   printable(token.content), token.id, given);
  }
  if (std::ranges::find(added_, token.id, &AddedToken::id) != added_.end()) {
    throw error_at(path_, ErrorCode::corrupt, "the added token '{}' appears twice",
                   printable(token.content));
  }
  token.is_in_model = known != kNoToken;
  set(token.id, token.content);
  is_only_added_[token.id] = !token.is_in_model;
  is_special_[token.id] = is_special_[token.id] || token.is_special;
  next_added_ = std::max(next_added_, token.id + 1);
  added_.push_back(std::move(token));
}

Tokenizer::Tables VocabularyBuilder::finish(std::vector<std::pair<uint32_t, uint32_t>> merges,
                                            std::vector<uint32_t> merged, bool tells_special) {
  const auto missing = std::ranges::find(is_there_, false);
  if (missing != is_there_.end() || texts_.empty()) {
    throw error_at(path_, ErrorCode::corrupt,
                   "no token has the number {}; the numbers of the {} tokens must be "
                   "0, 1, 2, ... without a gap",
                   missing - is_there_.begin(), texts_.size());
  }
  if (!tells_special) {
    // What is longer than a byte and made by no merge: "<|endoftext|>".
    std::vector<bool> is_made(texts_.size());
    for (const uint32_t id : merged) is_made[id] = true;
    std::string bytes;
    for (size_t id = 0; id < texts_.size(); ++id) {
      const bool is_byte = bytes_of_text(texts_[id], bytes) && bytes.size() == 1;
      is_special_[id] = !is_byte && !is_made[id];
    }
  }
  Tokenizer::Tables tables;
  tables.tokens.resize(texts_.size());
  for (size_t id = 0; id < texts_.size(); ++id) {
    if (is_special_[id] || is_only_added_[id]) {
      tables.tokens[id] = texts_[id];
    } else if (!bytes_of_text(texts_[id], tables.tokens[id]) || texts_[id].empty()) {
      throw error_at(path_, ErrorCode::unsupported,
                     "token {} is '{}', which is not in the alphabet of a "
                     "byte-level BPE; use a tokenizer like that of GPT-2",
                     id, printable(texts_[id]));
    }
  }
  tables.is_special = std::move(is_special_);
  tables.is_only_added = std::move(is_only_added_);
  tables.added = std::move(added_);
  for (AddedToken& token : tables.added) token.is_special = tables.is_special[token.id];
  tables.merges = std::move(merges);
  tables.merged = std::move(merged);
  return tables;
}

void MergeList::add(const std::string& left, const std::string& right, const std::string& place) {
  for (const std::string& text : {left, right, left + right}) {
    if (vocabulary_.id_of(text) != kNoToken) continue;
    throw error_at(path_, ErrorCode::corrupt,
                   "{}: the vocabulary has no token '{}'; use two files of the same tokenizer",
                   place, printable(text));
  }
  pairs.emplace_back(vocabulary_.id_of(left), vocabulary_.id_of(right));
  merged.push_back(vocabulary_.id_of(left + right));
}

void MergeList::add(std::string_view text, const std::string& place) {
  const size_t space = text.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == text.size() ||
      text.find(' ', space + 1) != std::string_view::npos) {
    throw error_at(path_, ErrorCode::corrupt,
                   "{}: '{}' is not a merge; write two tokens with a space between "
                   "them",
                   place, printable(text));
  }
  add(std::string(text.substr(0, space)), std::string(text.substr(space + 1)), place);
}

}  // namespace ffkit::text
