#include "vocabulary_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit::text {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

}  // namespace

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

bool is_off(const Json& value) {
  return value.is_null() || value == false || value == "" || value == 0;
}

void refuse_kind(const std::filesystem::path& path, const std::string& what) {
  throw error_at(
      path, ErrorCode::unsupported,
      "has {}, which is not known; take a byte-level BPE like those of GPT-2, Llama 3 and Qwen",
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

void refuse_file(ErrorCode code, const fs::path& path, const std::string& message) {
  throw error_at(path, code, message);
}

Json parse_json(std::string_view text, const fs::path& path) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    refuse_file(ErrorCode::corrupt, path,
                fmt::format("is no JSON: {}; fetch the file anew", printable(error.what())));
  }
}

void require_object(const Json& json, const fs::path& path, const char* what) {
  if (json.is_object()) return;
  refuse_file(ErrorCode::corrupt, path, fmt::format("{} is no JSON object", what));
}

uint32_t VocabularyBuilder::number_of(const std::string& text, const Json& id) const {
  if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId) {
    refuse_file(ErrorCode::corrupt, path_,
                fmt::format("the number of token '{}' is {}; it must be 0 .. {}", printable(text),
                            id.dump(), kMaxId));
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
    refuse_file(ErrorCode::corrupt, path_,
                fmt::format("the tokens '{}' and '{}' have the same number, {}",
                            printable(texts_[number]), printable(text), number));
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
    refuse_file(ErrorCode::corrupt, path_,
                fmt::format("the added token '{}' has the number {}, but Hugging Face's programs "
                            "give it {}; write the file anew with them",
                            printable(token.content), token.id, given));
  }
  if (std::ranges::find(added_, token.id, &AddedToken::id) != added_.end()) {
    refuse_file(ErrorCode::corrupt, path_,
                fmt::format("the added token '{}' is listed twice", printable(token.content)));
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
  Tokenizer::Tables tables;
  tables.tokens.resize(texts_.size());
  for (size_t id = 0; id < texts_.size(); ++id) {
    if (is_special_[id] || is_only_added_[id]) {
      tables.tokens[id] = texts_[id];
    } else if (!bytes_of_text(texts_[id], tables.tokens[id]) || texts_[id].empty()) {
      refuse_file(ErrorCode::unsupported, path_,
                  fmt::format("token {} is '{}', which is not written as the bytes of a "
                              "byte-level BPE; take a tokenizer as of GPT-2",
                              id, printable(texts_[id])));
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
    refuse_file(ErrorCode::corrupt, path_,
                fmt::format("{}: '{}' is no token of the vocabulary; take both files of one "
                            "tokenizer",
                            place, printable(text)));
  }
  pairs.emplace_back(vocabulary_.id_of(left), vocabulary_.id_of(right));
  merged.push_back(vocabulary_.id_of(left + right));
}

void MergeList::add(std::string_view text, const std::string& place) {
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

}  // namespace ffkit::text
