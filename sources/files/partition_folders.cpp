#include "files/partition_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "converter/input/source_error.h"
#include "converter/input/split_name.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

bool is_value_folder(const std::string& name) {
  return name.find('=') != std::string::npos && name.front() != '=';
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* const digits = text.data() + i + 1;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
        decoded += static_cast<char>(byte);
        i += 2;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

PartitionValue value_in(const std::string& folder) {
  const size_t equals = folder.find('=');
  PartitionValue found{.key = percent_decoded(folder.substr(0, equals)), .value = {}};
  const std::string value = folder.substr(equals + 1);
  if (value != "__HIVE_DEFAULT_PARTITION__") found.value = percent_decoded(value);
  return found;
}

// The split that a folder of values names; empty for others.
std::string split_of(const PartitionValue& value) {
  return value.key == "split" && value.value ? split_called(*value.value) : std::string();
}

class PartitionFinder {
 public:
  PartitionFinder(const fs::path& path, const ShardNames& names) : path_(path), names_(names) {}

  // Below `folder`, whose folders are values; `split`: what is known of it.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the folders are
  void add(const fs::path& folder, const std::string& split) {
    for (const std::string& name : data_folders(folder, names_)) {
      const fs::path below = folder / name;
      const std::vector<fs::path> files = shards_in(below, names_);
      if (!is_value_folder(name)) {
        if (!files.empty()) throw beside(name_below(path_, below));
        continue;
      }
      const std::string named = split_of(value_in(name));
      const std::string& of = named.empty() ? split : named;
      auto& all = splits_[of.empty() ? "train" : of];
      all.insert(all.end(), files.begin(), files.end());
      add(below, of);
    }
  }

  Error beside(const std::string& what) const {
    return source_error(path_, ErrorCode::invalid_argument,
                        "has folders of values (label=cat), and {} beside them in '{}'; give one "
                        "of both",
                        names_.noun, what);
  }

  SplitFiles take() {
    std::erase_if(splits_, [](const auto& split) { return split.second.empty(); });
    for (auto& [name, files] : splits_) std::ranges::sort(files);
    return std::move(splits_);
  }

 private:
  const fs::path& path_;
  const ShardNames& names_;
  SplitFiles splits_;
};

bool has_value_folders(const fs::path& folder, const ShardNames& names) {
  return std::ranges::any_of(data_folders(folder, names), is_value_folder);
}

}  // namespace

std::optional<ShardListing> find_partitioned_shards(const fs::path& path, const ShardNames& names) {
  if (is_brace_list(path) || !is_folder_at(path)) return std::nullopt;
  PartitionFinder finder(path, names);
  if (has_value_folders(path, names)) {
    if (!shards_in(path, names).empty()) throw finder.beside(".");
    finder.add(path, "");
  } else {
    std::string plain;
    bool is_any = false;
    for (const std::string& name : data_folders(path, names)) {
      if (has_value_folders(path / name, names)) {
        is_any = true;
        const std::string split = split_called(name);
        finder.add(path / name, split.empty() ? name : split);
        if (!shards_in(path / name, names).empty()) plain = name;
      } else if (!shards_in(path / name, names).empty()) {
        plain = name;
      }
    }
    if (is_any && !plain.empty()) throw finder.beside(plain);
  }
  const SplitFiles splits = finder.take();
  if (splits.empty()) return std::nullopt;
  return listing_of(path, splits);
}

std::vector<PartitionValue> partition_values(const fs::path& root, const fs::path& file) {
  std::vector<PartitionValue> values;
  const std::string below = name_below(root, file);
  for (size_t begin = 0; begin < below.size();) {
    const size_t end = below.find('/', begin);
    if (end == std::string::npos) break;
    const std::string folder = below.substr(begin, end - begin);
    begin = end + 1;
    if (folder.empty() || !is_value_folder(folder)) continue;
    PartitionValue value = value_in(folder);
    if (split_of(value).empty()) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace ffkit
