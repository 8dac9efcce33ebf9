#include "tokenizer_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "base/fnv.h"

namespace ffkit::text {
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

}  // namespace ffkit::text
