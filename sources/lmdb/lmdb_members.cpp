#include "lmdb/lmdb_members.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace ffkit {
namespace {

constexpr std::array<std::string_view, 9> kBookkeepingKeys = {
    "__len__", "__keys__", "__classes__", "num-samples", "num_samples",
    "length",  "len",      "keys",        "meta"};

struct MemberKey {
  std::string_view word;
  std::string_view number;
};

// Of "image-000000001", "000000001.jpg".
std::optional<MemberKey> member_key(std::string_view key) {
  const auto are_digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const auto is_word = [](std::string_view text) {
    return !text.empty() && text.find_first_of("0123456789-_.:/ ") == std::string_view::npos;
  };
  constexpr std::string_view kSeparators = "-_.:/ ";
  const size_t separator = key.find_first_of(kSeparators);
  if (separator == std::string_view::npos) return std::nullopt;
  const std::string_view left = key.substr(0, separator);
  const std::string_view right = key.substr(separator + 1);
  if (is_word(left) && are_digits(right)) return MemberKey{left, right};
  if (are_digits(left) && is_word(right)) return MemberKey{right, left};
  return std::nullopt;
}

}  // namespace

bool is_bookkeeping(std::string_view key) {
  return std::ranges::find(kBookkeepingKeys, key) != kBookkeepingKeys.end();
}

std::optional<LmdbMembers> find_lmdb_members(const LmdbRowsOfFiles& rows) {
  struct Word {
    int64_t num_values = 0;
    int64_t num_pictures = 0;
  };
  std::map<std::string, Word, std::less<>> words;
  for (const auto& split : rows) {
    for (const auto& file : split) {
      for (const LmdbRow& row : file) {
        if (is_bookkeeping(row.id)) continue;
        const auto key = member_key(row.id);
        if (!key) return std::nullopt;
        constexpr size_t kMostWords = 16;
        auto word = words.find(key->word);
        if (word == words.end()) word = words.try_emplace(std::string(key->word)).first;
        if (words.size() > kMostWords) return std::nullopt;
        ++word->second.num_values;
        if (row.facts.content == LmdbContent::picture) ++word->second.num_pictures;
      }
    }
  }
  LmdbMembers members;
  for (const auto& [name, word] : words) {
    if (2 * word.num_pictures > word.num_values) {
      if (!members.picture.empty()) return std::nullopt;
      members.picture = name;
    } else if (word.num_pictures == 0) {
      members.others.push_back(name);
    } else {
      return std::nullopt;
    }
  }
  if (members.picture.empty() || members.others.empty()) return std::nullopt;
  int64_t num_pictures = 0;
  int64_t num_joined = 0;
  for (const auto& split : rows) {
    for (const auto& file : split) {
      for (const LmdbMemberRow& row : join_lmdb_members(file, members)) {
        if (!row.picture) continue;
        ++num_pictures;
        num_joined +=
            std::ranges::any_of(row.others, [](const auto& one) { return one.has_value(); });
      }
    }
  }
  if (2 * num_joined < num_pictures) return std::nullopt;
  return members;
}

std::vector<LmdbMemberRow> join_lmdb_members(const std::vector<LmdbRow>& rows,
                                             const LmdbMembers& members) {
  std::vector<LmdbMemberRow> joined;
  std::map<std::string_view, size_t> numbers;
  const auto row_of = [&](std::string_view number) -> LmdbMemberRow& {
    const auto [at, is_new] = numbers.try_emplace(number, joined.size());
    if (is_new) {
      joined.push_back({.id = std::string(number), .picture = {}, .others = {}});
      joined.back().others.resize(members.others.size());
    }
    return joined[at->second];
  };
  for (const LmdbRow& row : rows) {
    const auto key = member_key(row.id);
    if (key && key->word == members.picture) row_of(key->number).picture = row.value;
  }
  for (const LmdbRow& row : rows) {
    const auto key = member_key(row.id);
    if (!key || key->word == members.picture) continue;
    const auto word = std::ranges::find(members.others, key->word);
    if (word == members.others.end()) continue;
    const auto number = static_cast<size_t>(word - members.others.begin());
    row_of(key->number).others[number] = row.value;
  }
  return joined;
}

}  // namespace ffkit
