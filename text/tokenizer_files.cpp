// vocab.json + merges.txt, encoder.json + vocab.bpe, and tokenizer.json.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "tokenizer_tables.h"
#include "vocabulary_builder.h"

namespace ffkit::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Tables = Tokenizer::Tables;

// What lies beside a vocabulary and its merges and changes what they say.
bool adds_prefix_space(const fs::path& folder) {
  if (const fs::path added = folder / "added_tokens.json"; fs::exists(added)) {
    const Json json = parse_json(read_whole_text(added), added);
    if (!json.empty()) {
      refuse_file(ErrorCode::unsupported, added,
                  "adds tokens without saying how they are matched; save the tokenizer as "
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
    refuse_file(ErrorCode::not_found, path,
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
      refuse_file(ErrorCode::not_found, path / merges,
                  fmt::format("is missing, which belongs to {}", vocabulary));
    }
    return read_pair(path / vocabulary, path / merges);
  }
  refuse_file(ErrorCode::not_found, path,
              "holds no tokenizer: neither tokenizer.json, nor vocab.json and merges.txt, nor "
              "encoder.json and vocab.bpe");
}

}  // namespace ffkit::text
