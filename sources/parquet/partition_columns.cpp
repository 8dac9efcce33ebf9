#include "parquet/partition_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "converter/input/source_error.h"
#include "converter/places/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> keys_of(const std::vector<PartitionValue>& values) {
  std::vector<std::string> keys;
  keys.reserve(values.size());
  for (const PartitionValue& value : values) keys.push_back(value.key);
  return keys;
}

// "007" is a text.
std::optional<int64_t> plain_number(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || std::to_string(number) != text) return std::nullopt;
  return number;
}

}  // namespace

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
                           "lies in folders of other columns than the first file: '{}' against "
                           "'{}'; give folders of the same ones",
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
      notes_.push_back(fmt::format(
          "{}: column '{}' stands in the folders' names{}", shown_place(root), name,
          columns_[i].class_names.empty()
              ? std::string()
              : fmt::format(", whose {} values are the classes, in the order of their names",
                            columns_[i].class_names.size())));
      continue;
    }
    notes_.push_back(
        fmt::format("{}: column '{}' is in the files and in the folders' names; that "
                    "of the files is taken",
                    shown_place(root), name));
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
