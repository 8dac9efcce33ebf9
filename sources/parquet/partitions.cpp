#include "parquet/partitions.h"

#include <algorithm>

#include "base/number_text.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "storage/addresses/url.h"

namespace ffkit {
namespace {

bool is_value_folder(const std::string& name) {
  return name.find('=') != std::string::npos && name.front() != '=';
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
                        "the source has folders with the names of values, such as label=cat, and "
                        "also {0} in '{1}'; give only the folders with values, or only '{1}'",
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

std::vector<std::string> keys_of(const std::vector<PartitionValue>& values) {
  std::vector<std::string> keys;
  keys.reserve(values.size());
  for (const PartitionValue& value : values) keys.push_back(value.key);
  return keys;
}

// "007" is a text.
std::optional<int64_t> plain_number(const std::string& text) {
  const auto number = number_of_text<int64_t>(text);
  return number && std::to_string(*number) == text ? number : std::nullopt;
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

PartitionColumns::PartitionColumns(const fs::path& root,
                                   const std::vector<std::vector<fs::path>>& files,
                                   const std::vector<RowColumn>& own, const RowOptions& options,
                                   const PartitionTexts& all) {
  std::optional<std::vector<std::string>> keys;
  for (const std::vector<fs::path>& of_split : files) {
    values_.emplace_back();
    for (const fs::path& file : of_split) {
      const std::vector<PartitionValue> found = partition_values(root, file);
      if (!keys) keys = keys_of(found);
      if (*keys != keys_of(found)) {
        throw source_error(file, ErrorCode::invalid_argument,
                           "is in folders of other columns than the first file: '{}' here, but "
                           "'{}' there; give folders of the same columns",
                           fmt::join(keys_of(found), "', '"), fmt::join(*keys, "', '"));
      }
      std::vector<Value> values;
      values.reserve(found.size());
      for (const PartitionValue& one : found) {
        values.push_back({.is_null = !one.value, .text = one.value.value_or("")});
      }
      values_.back().push_back(std::move(values));
    }
  }
  if (!keys) return;
  for (const std::string& key : *keys) columns_.push_back({.field = {key, FieldType::string}});
  for (size_t i = 0; i < columns_.size(); ++i) settle(i, options, all);
  // Those that the files have themselves.
  for (size_t i = columns_.size(); i-- > 0;) {
    const std::string& name = columns_[i].field.name;
    const bool is_own = std::ranges::any_of(
        own, [&](const RowColumn& column) { return column.field.name == name; });
    if (!is_own) {
      add_note(notes_, shown_place(root), "column '{}' comes from the names of the folders{}", name,
               columns_[i].class_names.empty()
                   ? std::string()
                   : fmt::format("; its {} values are the classes, sorted by name",
                                 columns_[i].class_names.size()));
      continue;
    }
    add_note(notes_, shown_place(root),
             "column '{}' is in the files and in the folders' names; ffkit uses that of the files",
             name);
    const auto at = static_cast<std::ptrdiff_t>(i);
    columns_.erase(columns_.begin() + at);
    for (auto& split : values_) {
      for (auto& file : split) file.erase(file.begin() + at);
    }
  }
}

void PartitionColumns::settle(size_t column, const RowOptions& options, const PartitionTexts& all) {
  RowColumn& settled = columns_[column];
  std::set<std::string> texts;
  if (all.contains(settled.field.name)) texts = all.at(settled.field.name);
  bool are_numbers = true;
  for (const std::string& text : texts) are_numbers = are_numbers && plain_number(text);
  for (auto& split : values_) {
    for (auto& file : split) {
      Value& value = file[column];
      if (value.is_null) continue;
      texts.insert(value.text);
      const std::optional<int64_t> number = plain_number(value.text);
      are_numbers = are_numbers && number;
      value.number = number.value_or(0);
    }
  }
  const std::string& name = settled.field.name;
  const bool is_label = options.label_column.empty() ? name == "label" || name == "class"
                                                     : name == options.label_column;
  if (are_numbers || (is_label && options.classes.empty())) {
    settled.field = {name, FieldType::scalar, DType::i64};
  }
  if (are_numbers || !is_label || !options.classes.empty()) return;
  settled.class_names.assign(texts.begin(), texts.end());
  for (auto& split : values_) {
    for (auto& file : split) {
      Value& value = file[column];
      value.number =
          std::ranges::lower_bound(settled.class_names, value.text) - settled.class_names.begin();
    }
  }
}

void PartitionColumns::set(size_t split, size_t file, std::span<RowValue> values) const {
  if (columns_.empty()) return;
  const std::vector<Value>& known = values_.at(split).at(file);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (known[i].is_null) continue;
    if (columns_[i].field.type == FieldType::scalar) {
      values[i].set_scalar(known[i].number);
    } else {
      values[i].set_bytes(std::as_bytes(std::span(known[i].text)));
    }
  }
}

}  // namespace ffkit
