// VocabularyBuilder: the vocabulary and the list of merges of all tokenizer files, checked while
// they are read; and the members of a tokenizer.json, those refused that are not known.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/base/error.h>

#include "tokenizer_tables.h"

namespace ffkit::text {

[[noreturn]] void refuse_file(ErrorCode code, const std::filesystem::path& path,
                              const std::string& message);
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
