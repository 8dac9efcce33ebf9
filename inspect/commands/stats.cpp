// ffinspect stats: what the columns hold, without reading a record.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include <ffkit/format/dtype_visitor.h>

#include "base/printable.h"
#include "commands.h"
#include "data/data_sets.h"
#include "format/schema/label_field.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr const char* kStatsFooter =
    R"(A column holds 0 or an empty text for a null value, and the statistics count it as such.

With --json: one document {"splits": [...]}, each with split, path, num_records, columns (name, type, dtype,
  count, and min, max, mean, num_nan or distinct, num_empty), labels (label, class, class_name, num_records, for
  all labels; null if labels are not a column).)";

struct StatsOptions {
  Target target;
  int64_t max_classes = 40;
};

// Minimum and maximum are exact, whatever the type; sums are made of doubles.
template <typename T>
Json number_stats(const std::vector<T>& values) {
  int64_t num_nan = 0;
  double sum = 0;
  T low = std::numeric_limits<T>::max();
  T high = std::numeric_limits<T>::lowest();
  for (const T value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) {
        ++num_nan;
        continue;
      }
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += static_cast<double>(value);
  }
  const int64_t count = std::ssize(values) - num_nan;
  Json json = {{"count", values.size()}};
  const auto number = [](T value) {
    if constexpr (std::is_integral_v<T>) return Json(value);
    return json_number(static_cast<double>(value));
  };
  json["min"] = count > 0 ? number(low) : Json();
  json["max"] = count > 0 ? number(high) : Json();
  json["mean"] = count > 0 ? json_number(sum / static_cast<double>(count)) : Json();
  if constexpr (std::is_floating_point_v<T>) json["num_nan"] = num_nan;
  return json;
}

Json string_stats(const std::vector<std::string>& values) {
  const std::unordered_set<std::string_view> distinct(values.begin(), values.end());
  return {{"count", values.size()},
          {"distinct", distinct.size()},
          {"num_empty", std::ranges::count(values, "")}};
}

Json column_stats(const Dataset& dataset, const Field& field) {
  if (field.type == FieldType::string) return string_stats(dataset.string_column(field.name));
  if (!is_integer(field.dtype)) return number_stats(dataset.float_column(field.name));
  if (field.dtype == DType::u64) return number_stats(dataset.uint_column(field.name));
  return number_stats(dataset.int_column(field.name));
}

// Records of each label; classes without any are in it too.
std::map<int64_t, int64_t> count_labels(const Dataset& dataset, const std::string& field) {
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 0; i < std::ssize(dataset.manifest().classes); ++i) counts[i] = 0;
  for (const int64_t label : dataset.int_column(field)) ++counts[label];
  return counts;
}

Json labels_json(const Dataset& dataset, const std::string& field) {
  Json labels = Json::array();
  for (const auto& [label, count] : count_labels(dataset, field)) {
    labels.push_back({{"label", label},
                      {"class", class_of(dataset.manifest(), label)},
                      {"class_name", class_name_of(dataset.manifest(), label)},
                      {"num_records", count}});
  }
  return labels;
}

Json split_stats(const Dataset& dataset) {
  Json columns = Json::array();
  Json labels;
  const auto label_field = find_label_field(dataset.schema());
  for (size_t i = 0; i < dataset.schema().fields.size(); ++i) {
    const Field& field = dataset.schema().fields[i];
    if (!field.column) continue;
    Json column = field_description_json(field);
    column.erase("column");
    column.update(column_stats(dataset, field));
    columns.push_back(std::move(column));
    if (label_field == i) labels = labels_json(dataset, field.name);
  }
  return {{"split", dataset.manifest().split},
          {"path", dataset.path().string()},
          {"num_records", dataset.num_records()},
          {"columns", columns},
          {"labels", labels}};
}

std::string text_of_number(const Json& number) {
  if (number.is_number_float()) return fmt::format("{:.6g}", number.get<double>());
  if (number.is_string()) return number.get<std::string>();
  return number.is_null() ? "none" : number.dump();
}

void print_columns(const Json& columns) {
  size_t width = 0;
  for (const Json& column : columns) {
    width = std::max(width, escaped(column["name"].get<std::string>()).size());
  }
  for (const Json& column : columns) {
    const std::string type =
        column["type"].get<std::string>() +
        (column.contains("dtype") ? " " + column["dtype"].get<std::string>() : "");
    fmt::print("  {:<{}}  {:<11} ", escaped(column["name"].get<std::string>()), width, type);
    if (column.contains("distinct")) {
      const auto num_empty = column["num_empty"].get<int64_t>();
      fmt::print(" {} distinct{}\n", with_commas(column["distinct"].get<int64_t>()),
                 num_empty == 0 ? "" : fmt::format(", {} empty", with_commas(num_empty)));
      continue;
    }
    const int64_t num_nan = column.value("num_nan", int64_t{0});
    fmt::print(" min {}, max {}, mean {}{}\n", text_of_number(column["min"]),
               text_of_number(column["max"]), text_of_number(column["mean"]),
               num_nan == 0 ? "" : fmt::format(", {} not a number", with_commas(num_nan)));
  }
}

struct LabelRow {
  std::string name;
  int64_t label = 0;
  int64_t count = 0;
};

std::vector<LabelRow> label_rows(const Json& labels) {
  std::vector<LabelRow> rows;
  for (const Json& label : labels) {
    const auto identifier = label["class"].get<std::string>();
    const auto readable = label["class_name"].get<std::string>();
    std::string name = escaped(identifier);
    if (!readable.empty() && readable != identifier) name += " " + escaped(readable);
    rows.push_back({name, label["label"].get<int64_t>(), label["num_records"].get<int64_t>()});
  }
  return rows;
}

// `text` in `width` columns of a terminal, as far as code points tell.
std::string fitted(const std::string& text, size_t width) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const auto length = static_cast<size_t>(std::ranges::count_if(text, begins));
  if (length <= width) return text + std::string(width - length, ' ');
  size_t seen = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins(text[end]) && ++seen > width - 2) break;
  }
  return text.substr(0, end) + "..";
}

void print_rows(std::span<const LabelRow> rows, int64_t largest, size_t width) {
  for (const LabelRow& row : rows) {
    const std::string line =
        fmt::format("  {:>6}  {}  {:>9}  {}", row.label, fitted(row.name, width),
                    with_commas(row.count), bar(row.count, largest));
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void print_labels(const Json& labels, int64_t max_classes) {
  std::vector<LabelRow> rows = label_rows(labels);
  std::vector<int64_t> counts;
  size_t width = 0;
  for (const LabelRow& row : rows) {
    counts.push_back(row.count);
    width = std::max(width, std::min<size_t>(row.name.size(), 32));
  }
  if (rows.empty()) return;
  std::ranges::sort(counts);
  fmt::print("\n  {} with {} to {} records each, median {}; {} without any\n",
             counted(std::ssize(rows), "label"), with_commas(counts.front()),
             with_commas(counts.back()), with_commas(counts[counts.size() / 2]),
             with_commas(std::ranges::count(counts, 0)));
  if (max_classes == 0 || std::ssize(rows) <= max_classes) {
    print_rows(rows, counts.back(), width);
    return;
  }
  std::ranges::stable_sort(rows, std::greater(), &LabelRow::count);
  const auto num_last = static_cast<size_t>(max_classes / 2);
  const size_t num_first = static_cast<size_t>(max_classes) - num_last;
  print_rows(std::span(rows).first(num_first), counts.back(), width);
  fmt::print("  ... {} labels between, most frequent first; --max-classes 0 shows all in order\n",
             with_commas(std::ssize(rows) - max_classes));
  print_rows(std::span(rows).last(num_last), counts.back(), width);
}

int stats(const StatsOptions& options) {
  Json splits = Json::array();
  for (const Dataset& dataset : open_splits(options.target)) {
    splits.push_back(split_stats(dataset));
  }
  if (options.target.json) {
    print_json({{"splits", splits}});
    return 0;
  }
  for (size_t i = 0; i < splits.size(); ++i) {
    const Json& split = splits[i];
    fmt::print("{}{}: {} records\n", i == 0 ? "" : "\n", split["path"].get<std::string>(),
               with_commas(split["num_records"].get<int64_t>()));
    if (split["columns"].empty()) fmt::print("  no field is a column\n");
    print_columns(split["columns"]);
    print_labels(split["labels"], options.max_classes);
  }
  return 0;
}

}  // namespace

void add_stats_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<StatsOptions>();
  CLI::App* command = add_command(
      app, "stats",
      "Prints a histogram of the labels and statistics of the columns. It reads no record",
      options->target, kStatsFooter);
  command
      ->add_option("--max-classes", options->max_classes,
                   "Largest number of classes to show. If there are more classes, the most "
                   "frequent and the least frequent classes are shown. 0 means all classes")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_choice_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return stats(*options); }; });
}

}  // namespace ffkit
