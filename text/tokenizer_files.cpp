// vocab.json + merges.txt, encoder.json + vocab.bpe, and tokenizer.json.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

#include "format/printable.h"
#include "tokenizer_tables.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Tables = Tokenizer::Tables;

[[noreturn]] void refuse_file(ErrorCode code, const fs::path& path, const std::string& message) {
  throw Error(code, message, {.path = path.string()});
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    refuse_file(ErrorCode::io, path, "cannot be read");
  }
  return text;
}

Json parse_json(std::string_view text, const fs::path& path) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    refuse_file(ErrorCode::corrupt, path,
                fmt::format("is no JSON: {}; fetch the file anew", printable(error.what())));
  }
}

// Tokens by their texts and numbers, until all numbers are there.
class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(const fs::path& path) : path_(path) {}

  void add(const std::string& text, const Json& id, bool is_special) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId) {
      refuse_file(ErrorCode::corrupt, path_,
                  fmt::format("the number of token '{}' is {}; it must be 0 .. {}", printable(text),
                              id.dump(), kMaxId));
    }
    const auto number = id.get<uint32_t>();
    if (number >= texts_.size()) {
      texts_.resize(number + 1);
      is_there_.resize(number + 1);
      is_special_.resize(number + 1);
    }
    if (is_there_[number] && texts_[number] != text) {
      refuse_file(ErrorCode::corrupt, path_,
                  fmt::format("the tokens '{}' and '{}' have the same number, {}",
                              printable(texts_[number]), printable(text), number));
    }
    is_there_[number] = true;
    is_special_[number] = is_special_[number] || is_special;
    texts_[number] = text;
    ids_[text] = number;
  }

  // Of a token's text; kNoToken when there is none.
  uint32_t id_of(const std::string& text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoToken : found->second;
  }

  Tables finish(std::vector<std::pair<uint32_t, uint32_t>> merges, std::vector<uint32_t> merged,
                bool tells_special) {
    const auto missing = std::ranges::find(is_there_, false);
    if (missing != is_there_.end() || texts_.empty()) {
      refuse_file(ErrorCode::corrupt, path_,
                  fmt::format("no token has the number {}, of {} tokens; numbers must be 0, 1, "
                              "2, ... without a gap",
                              missing - is_there_.begin(), texts_.size()));
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
    Tables tables;
    tables.tokens.resize(texts_.size());
    for (size_t id = 0; id < texts_.size(); ++id) {
      if (is_special_[id]) {
        tables.tokens[id] = texts_[id];
      } else if (!bytes_of_text(texts_[id], tables.tokens[id]) || texts_[id].empty()) {
        refuse_file(ErrorCode::unsupported, path_,
                    fmt::format("token {} is '{}', which is not written as the bytes of a "
                                "byte-level BPE; take a tokenizer as of GPT-2",
                                id, printable(texts_[id])));
      }
    }
    tables.is_special = std::move(is_special_);
    tables.merges = std::move(merges);
    tables.merged = std::move(merged);
    return tables;
  }

 private:
  static constexpr uint64_t kMaxId = (1 << 24) - 1;
  const fs::path& path_;
  std::vector<std::string> texts_;
  std::vector<bool> is_there_, is_special_;
  std::unordered_map<std::string, uint32_t> ids_;
};

class MergeList {
 public:
  MergeList(const VocabularyBuilder& vocabulary, const fs::path& path)
      : vocabulary_(vocabulary), path_(path) {}

  // `place`: for errors, "line 3".
  void add(const std::string& left, const std::string& right, const std::string& place) {
    for (const std::string& text : {left, right, left + right}) {
      if (vocabulary_.id_of(text) != kNoToken) continue;
      refuse_file(ErrorCode::corrupt, path_,
                  fmt::format("{}: '{}' is no token of the vocabulary; take both files of one "
                              "tokenizer",
                              place, printable(text)));
    }
    pairs.emplace_back(vocabulary_.id_of(left), vocabulary_.id_of(right));
    merged.push_back(vocabulary_.id_of(left + right));
  }

  // "Ġ t"
  void add(std::string_view text, const std::string& place) {
    const size_t space = text.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == text.size() ||
        text.find(' ', space + 1) != std::string_view::npos) {
      refuse_file(ErrorCode::corrupt, path_,
                  fmt::format("{}: '{}' is no merge; it must be two tokens with a space between "
                              "them",
                              place, printable(text)));
    }
    add(std::string(text.substr(0, space)), std::string(text.substr(space + 1)), place);
  }

  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  std::vector<uint32_t> merged;

 private:
  const VocabularyBuilder& vocabulary_;
  const fs::path& path_;
};

void require_object(const Json& json, const fs::path& path, const char* what) {
  if (json.is_object()) return;
  refuse_file(ErrorCode::corrupt, path, fmt::format("{} is no JSON object", what));
}

Tables read_pair(const fs::path& vocabulary_path, const fs::path& merges_path) {
  const Json json = parse_json(read_text(vocabulary_path), vocabulary_path);
  require_object(json, vocabulary_path, "the vocabulary");
  VocabularyBuilder vocabulary(vocabulary_path);
  for (const auto& [text, id] : json.items()) vocabulary.add(text, id, false);
  MergeList merges(vocabulary, merges_path);
  const std::string text = read_text(merges_path);
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
  return vocabulary.finish(std::move(merges.pairs), std::move(merges.merged), false);
}

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

bool is_off(const Json& value) {
  return value.is_null() || value == false || value == "" || value == 0;
}

// Refuses what changes tokens and is not as in GPT-2.
bool check_kind(const Json& json, const fs::path& path) {
  const auto refuse_kind = [&path](const std::string& what) {
    refuse_file(ErrorCode::unsupported, path,
                fmt::format("has {}; only byte-level BPE as of GPT-2 is known", printable(what)));
  };
  const Json& model = member(json, "model");
  require_object(model, path, "'model'");
  if (const Json& type = member(model, "type"); !type.is_null() && type != "BPE") {
    refuse_kind("a model of type " + type.dump());
  }
  for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                           "byte_fallback", "ignore_merges"}) {
    if (!is_off(member(model, name))) refuse_kind(fmt::format("'{}' in its model", name));
  }
  if (!is_off(member(json, "normalizer"))) refuse_kind("a normalizer");
  const Json& words = member(json, "pre_tokenizer");
  if (!words.is_object() || member(words, "type") != "ByteLevel") {
    refuse_kind(words.is_object() ? "a pre_tokenizer of type " + member(words, "type").dump()
                                  : "no pre_tokenizer");
  }
  if (!is_off(member(words, "add_prefix_space"))) refuse_kind("'add_prefix_space'");
  return member(words, "use_regex") != false;
}

constexpr std::array<std::array<const char*, 2>, 2> kPairs = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};

}  // namespace

Tables read_tokenizer_files(const fs::path& path) {
  if (!fs::exists(path)) {
    refuse_file(ErrorCode::not_found, path,
                "there is no such file or folder; give a folder with vocab.json and merges.txt, "
                "or tokenizer.json, or the word 'bytes'");
  }
  if (!fs::is_directory(path)) return parse_tokenizer_json(read_text(path), path);
  for (const auto& [vocabulary, merges] : kPairs) {
    if (!fs::exists(path / vocabulary)) continue;
    if (!fs::exists(path / merges)) {
      if (fs::exists(path / "tokenizer.json")) break;
      refuse_file(ErrorCode::not_found, path / merges,
                  fmt::format("is missing, which belongs to {}", vocabulary));
    }
    Tables tables = read_pair(path / vocabulary, path / merges);
    tables.finish();
    return tables;
  }
  if (!fs::exists(path / "tokenizer.json")) {
    refuse_file(ErrorCode::not_found, path,
                "holds no tokenizer: neither vocab.json and merges.txt, nor encoder.json and "
                "vocab.bpe, nor tokenizer.json");
  }
  return parse_tokenizer_json(read_text(path / "tokenizer.json"), path / "tokenizer.json");
}

Tables parse_tokenizer_json(std::string_view text, const fs::path& path) {
  const Json json = parse_json(text, path);
  require_object(json, path, "the tokenizer");
  const bool splits_words = check_kind(json, path);
  const Json& model = json["model"];
  VocabularyBuilder vocabulary(path);
  require_object(member(model, "vocab"), path, "the vocabulary");
  for (const auto& [token, id] : model["vocab"].items()) vocabulary.add(token, id, false);
  const auto require_array = [&path](const Json& list, const char* name) {
    if (!list.is_array()) {
      refuse_file(ErrorCode::corrupt, path, fmt::format("'{}' is no JSON array", name));
    }
  };
  if (const Json& added = member(json, "added_tokens"); !added.is_null()) {
    require_array(added, "added_tokens");
    for (const Json& token : added) {
      if (!token.is_object() || !member(token, "content").is_string()) {
        refuse_file(ErrorCode::corrupt, path, "an added token has no 'content'");
      }
      vocabulary.add(token["content"].get<std::string>(), member(token, "id"), true);
    }
  }
  MergeList merges(vocabulary, path);
  const Json& list = member(model, "merges");
  require_array(list, "merges");
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& merge = list[i];
    const std::string place = fmt::format("merge {}", i);
    if (merge.is_string()) {
      merges.add(merge.get_ref<const std::string&>(), place);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      merges.add(merge[0].get<std::string>(), merge[1].get<std::string>(), place);
    } else {
      refuse_file(ErrorCode::corrupt, path,
                  fmt::format("{} is {}; it must be two tokens", place, printable(merge.dump())));
    }
  }
  Tables tables = vocabulary.finish(std::move(merges.pairs), std::move(merges.merged), true);
  tables.splits_words = splits_words;
  tables.finish();
  return tables;
}

std::string to_tokenizer_json(const Tables& tables) {
  // By hand: nlohmann's ordered_json looks at all keys to add one.
  const auto quoted = [](const std::string& text) { return Json(text).dump(); };
  std::string added, vocabulary, merges;
  for (size_t id = 0; id < tables.tokens.size(); ++id) {
    const bool is_special = tables.is_special[id];
    const std::string name =
        quoted(is_special ? tables.tokens[id] : text_of_bytes(tables.tokens[id]));
    if (is_special) {
      added += fmt::format(
          "{}{{\"id\":{},\"content\":{},\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
          "\"normalized\":false,\"special\":true}}",
          added.empty() ? "" : ",", id, name);
    }
    vocabulary += fmt::format("{}{}:{}", vocabulary.empty() ? "" : ",", name, id);
  }
  for (const auto& [left, right] : tables.merges) {
    merges += fmt::format("{}[{},{}]", merges.empty() ? "" : ",",
                          quoted(text_of_bytes(tables.tokens[left])),
                          quoted(text_of_bytes(tables.tokens[right])));
  }
  return fmt::format(
      "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{}],"
      "\"normalizer\":null,\"pre_tokenizer\":{{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
      "\"trim_offsets\":true,\"use_regex\":{}}},\"post_processor\":null,\"decoder\":{{\"type\":"
      "\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}},"
      "\"model\":{{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
      "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,"
      "\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{{{}}},\"merges\":[{}]}}}}",
      added, tables.splits_words, vocabulary, merges);
}

}  // namespace ffkit
