// tokenizer.json, read and written.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "tokenizer_tables.h"

namespace ffkit::text {

using Json = nlohmann::json;

namespace {

namespace fs = std::filesystem;
using Tables = Tokenizer::Tables;

void require_array(const Json& list, const char* name, const fs::path& path) {
  if (list.is_array()) return;
  throw error_at(path, ErrorCode::corrupt, "'{}' is not a JSON array", name);
}

void check_model(const Json& model, const fs::path& path) {
  require_object(model, path, "'model'");
  if (const Json& type = member(model, "type"); !type.is_null() && type != "BPE") {
    refuse_kind(path, "a model of type " + type.dump());
  }
  require_known(
      model, {"type", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"},
      "the model", path);
}

MergeList read_merges(const Json& list, const VocabularyBuilder& vocabulary, const fs::path& path) {
  MergeList merges(vocabulary, path);
  require_array(list, "merges", path);
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& merge = list[i];
    const std::string place = fmt::format("merge {}", i);
    if (merge.is_string()) {
      const auto& text = merge.get_ref<const std::string&>();
      if (!text.starts_with("#version")) merges.add(text, place);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      merges.add(merge[0].get<std::string>(), merge[1].get<std::string>(), place);
    } else {
      throw error_at(path, ErrorCode::corrupt, "{} is {}, but must be two tokens", place,
                     printable(merge.dump()));
    }
  }
  return merges;
}

// What becomes of bytes that are no tokens is of no account where all that UTF-8 has are some.
void check_unknown(const Json& model, const Tables& tables, const fs::path& path) {
  for (const char* name : {"unk_token", "byte_fallback", "fuse_unk"}) {
    if (is_off(member(model, name))) continue;
    for (int byte = 0; byte < 0xF5; ++byte) {
      if (byte == 0xC0 || byte == 0xC1) continue;
      if (tables.byte_tokens[byte] != kNoToken) continue;
      refuse_kind(path,
                  fmt::format("'{}' in the model, but no token for the byte 0x{:02x}", name, byte));
    }
  }
}

// The text of a token of `vocab`: those of the model may be bytes that are no UTF-8.
std::string quoted_token(const Tables& tables, size_t id) {
  const bool is_text = tables.is_special[id] || tables.is_only_added[id];
  return Json(is_text ? tables.tokens[id] : text_of_bytes(tables.tokens[id])).dump();
}

// The template that puts the same tokens around a document.
std::string post_processor_json(const Tables& tables) {
  if (tables.before.empty() && tables.after.empty()) return "null";
  std::string single, pair, known;
  const auto add = [&](const std::vector<uint32_t>& ids) {
    for (const uint32_t id : ids) {
      const std::string name = quoted_token(tables, id);
      single += fmt::format("{{\"SpecialToken\":{{\"id\":{},\"type_id\":0}}}},", name);
      const std::string entry =
          fmt::format("{0}:{{\"id\":{0},\"ids\":[{1}],\"tokens\":[{0}]}}", name, id);
      if (known.find(entry) == std::string::npos) known += (known.empty() ? "" : ",") + entry;
    }
  };
  add(tables.before);
  single += "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},";
  add(tables.after);
  single.pop_back();
  return fmt::format(
      "{{\"type\":\"TemplateProcessing\",\"single\":[{}],\"pair\":[{{\"Sequence\":{{\"id\":\"A\","
      "\"type_id\":0}}}},{{\"Sequence\":{{\"id\":\"B\",\"type_id\":1}}}}],\"special_tokens\":{{{}}}"
      "}}",
      single, known);
}

// How a special token is found in texts that make some. Where nothing is said of that, it is
// written as it always was, for the same text of the same tokenizer.
AddedToken stored_special(const Tables& tables, size_t id) {
  const auto listed = std::ranges::find(tables.added, id, &AddedToken::id);
  if (listed != tables.added.end() &&
      (listed->is_word || listed->strips_left || listed->strips_right ||
       (listed->is_normalized && !tables.normalizer.steps.empty()))) {
    return *listed;
  }
  return {.id = static_cast<uint32_t>(id), .content = tables.tokens[id], .is_special = true};
}

}  // namespace

Tables parse_tokenizer_json(std::string_view text, const fs::path& path) {
  const Json json = parse_json(text, path);
  require_object(json, path, "the tokenizer");
  const Json& model = member(json, "model");
  check_model(model, path);
  VocabularyBuilder vocabulary(path);
  require_object(member(model, "vocab"), path, "the vocabulary");
  for (const auto& [token, id] : model["vocab"].items()) vocabulary.add(token, id);
  MergeList merges = read_merges(member(model, "merges"), vocabulary, path);
  if (const Json& added = member(json, "added_tokens"); !added.is_null()) {
    require_array(added, "added_tokens", path);
    for (const Json& token : added) {
      vocabulary.add(read_added_token(token, path), member(token, "id"));
    }
  }
  Tables tables = vocabulary.finish(std::move(merges.pairs), std::move(merges.merged), true);
  read_parts(json, tables, path);
  tables.ignores_merges = !is_off(member(model, "ignore_merges"));
  tables.finish();
  check_unknown(model, tables, path);
  for (const AddedToken& token : tables.added) {
    if (token.id != tables.end_of_text || token.is_special) continue;
    throw error_at(path, ErrorCode::unsupported,
                   "the end-of-text token '{}' is an added token, but it is not special; "
                   "set \"special\": true for this token in the file",
                   printable(token.content));
  }
  return tables;
}

std::string to_tokenizer_json(const Tables& tables) {
  // By hand: nlohmann's ordered_json looks at all keys to add one.
  std::string added, vocabulary, merges;
  const bool matches_added = tables.matches_added();
  for (const AddedToken& token : tables.added) {
    if (matches_added) added += (added.empty() ? "" : ",") + added_token_json(token);
  }
  for (size_t id = 0; id < tables.tokens.size(); ++id) {
    if (tables.is_special[id] && !matches_added) {
      added += (added.empty() ? "" : ",") + added_token_json(stored_special(tables, id));
    }
    // Special tokens are among the others, as they always were. Where words are looked up, no added
    // token may be.
    if (tables.is_only_added[id] && (matches_added || tables.ignores_merges)) continue;
    vocabulary +=
        fmt::format("{}{}:{}", vocabulary.empty() ? "" : ",", quoted_token(tables, id), id);
  }
  for (const auto& [left, right] : tables.merges) {
    merges += fmt::format("{}[{},{}]", merges.empty() ? "" : ",", quoted_token(tables, left),
                          quoted_token(tables, right));
  }
  const std::string byte_level = fmt::format(
      "{{\"type\":\"ByteLevel\",\"add_prefix_space\":{},\"trim_offsets\":true,\"use_regex\":{}}}",
      tables.pre_tokenizer.adds_prefix_space, tables.splits_words);
  return fmt::format(
      "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{}],"
      "\"normalizer\":{},\"pre_tokenizer\":{},\"post_processor\":{},\"decoder\":{{\"type\":"
      "\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}},"
      "\"model\":{{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
      "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,"
      "\"byte_fallback\":false,\"ignore_merges\":{},\"vocab\":{{{}}},\"merges\":[{}]}}}}",
      added, tables.normalizer_json,
      tables.steps_json.empty() ? byte_level
                                : fmt::format("{{\"type\":\"Sequence\",\"pretokenizers\":[{},{}]}}",
                                              tables.steps_json, byte_level),
      post_processor_json(tables), tables.ignores_merges, vocabulary, merges);
}

// vocab.json + merges.txt, encoder.json + vocab.bpe, and tokenizer.json.

namespace {

// What lies beside a vocabulary and its merges and changes what they say.
bool adds_prefix_space(const fs::path& folder) {
  if (const fs::path added = folder / "added_tokens.json"; fs::exists(added)) {
    const Json json = parse_json(read_whole_text(added), added);
    if (!json.empty()) {
      throw error_at(
          added, ErrorCode::unsupported,
          "the file adds tokens, but it has no rules to match these tokens; save the tokenizer as "
          "tokenizer.json (AutoTokenizer's save_pretrained())");
    }
  }
  const fs::path config = folder / "tokenizer_config.json";
  if (!fs::exists(config)) return false;
  const Json json = parse_json(read_whole_text(config), config);
  return json.is_object() && member(json, "add_prefix_space") == true;
}

Tables read_pair(const fs::path& vocabulary_path, const fs::path& merges_path) {
  const Json json = parse_json(read_whole_text(vocabulary_path), vocabulary_path);
  require_object(json, vocabulary_path, "the vocabulary");
  VocabularyBuilder vocabulary(vocabulary_path);
  for (const auto& [text, id] : json.items()) vocabulary.add(text, id);
  MergeList merges(vocabulary, merges_path);
  const std::string text = read_whole_text(merges_path);
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = end + 1;
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    merges.add(line, fmt::format("line {}", number));
  }
  Tables tables = vocabulary.finish(std::move(merges.pairs), std::move(merges.merged), false);
  tables.pre_tokenizer.adds_prefix_space = adds_prefix_space(vocabulary_path.parent_path());
  tables.finish();
  return tables;
}

constexpr std::array<std::array<const char*, 2>, 2> kPairs = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};

}  // namespace

Tables read_tokenizer_files(const fs::path& path) {
  if (!fs::exists(path)) {
    throw error_at(path, ErrorCode::not_found,
                   "there is no such file or folder; give a folder with tokenizer.json, or with "
                   "vocab.json and merges.txt, or the word 'bytes'");
  }
  if (!fs::is_directory(path)) return parse_tokenizer_json(read_whole_text(path), path);
  if (const fs::path json = path / "tokenizer.json"; fs::exists(json)) {
    return parse_tokenizer_json(read_whole_text(json), json);
  }
  for (const auto& [vocabulary, merges] : kPairs) {
    if (!fs::exists(path / vocabulary)) continue;
    if (!fs::exists(path / merges)) {
      throw error_at(path / merges, ErrorCode::not_found,
                     "the file does not exist, but {} needs this file", vocabulary);
    }
    return read_pair(path / vocabulary, path / merges);
  }
  throw error_at(
      path, ErrorCode::not_found,
      "the folder has no tokenizer: it contains neither tokenizer.json, nor vocab.json and "
      "merges.txt, nor encoder.json and vocab.bpe");
}

}  // namespace ffkit::text
