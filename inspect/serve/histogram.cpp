#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/format/filter.h>

#include "serve/site.h"

namespace ffkit::serve {
namespace {

constexpr int64_t kMaxBins = 50;
constexpr size_t kFewValues = 20;                    // up to so many have a bar each
constexpr int64_t kLargestExact = int64_t{1} << 53;  // of a browser's integers

template <typename T>
Json number_of(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return json_number(value);
  } else {
    const bool is_exact =
        std::cmp_less_equal(value, kLargestExact) && std::cmp_greater_equal(value, -kLargestExact);
    return is_exact ? Json(value) : Json(fmt::to_string(value));
  }
}

Json histogram_of_classes(const ServedSplit& split, const Choice& choice) {
  const auto labels = split.columns().get("label");
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 0; i < choice.size(); ++i) ++counts[label_in(*labels, choice.at(i))];
  Json bins = Json::array();
  for (const auto& [label, count] : counts) {
    Json bin = {{"label", label}, {"num_records", count}};
    add_class(split.whole().manifest(), label, bin);
    bins.push_back(std::move(bin));
  }
  return bins;
}

// The shortest text that a filter on the field reads as this number.
template <typename T>
std::string filter_number(T value, DType dtype) {
  if (std::is_same_v<T, double> && dtype != DType::f64) {
    return fmt::to_string(static_cast<float>(value));
  }
  return fmt::to_string(value);
}

// The first values of bins of even width over low .. high, which are not equal.
template <typename T>
std::vector<T> begins_of(T low, T high) {
  std::vector<T> begins;
  if constexpr (std::is_integral_v<T>) {
    // The width may be more than a T can be.
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t width = range / kMaxBins + 1;
    for (uint64_t at = 0; at <= range; at += width) {
      begins.push_back(static_cast<T>(static_cast<uint64_t>(low) + at));
      if (range - at < width) break;
    }
  } else {
    const T width = high / kMaxBins - low / kMaxBins;
    for (int64_t i = 0; i < kMaxBins; ++i) begins.push_back(low + width * static_cast<T>(i));
  }
  return begins;
}

// Bars over the values of a column: one a value where there are few, else of even width; one each
// for nan and infinities. `where` is the filter that chooses a bar's records: its ends are values
// that there are, so it reads them as what they are.
template <typename T>
Json bins_of(const Field& field, const std::vector<T>& column, const Choice& choice) {
  const std::string word = filter_word(field.name);
  std::vector<T> values;
  std::map<std::string, int64_t> others;
  values.reserve(static_cast<size_t>(choice.size()));
  for (int64_t i = 0; i < choice.size(); ++i) {
    const T value = column[static_cast<size_t>(choice.at(i))];
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        ++others[std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"];
        continue;
      }
    }
    values.push_back(value);
  }
  std::ranges::sort(values);
  std::vector<T> begins;
  std::ranges::unique_copy(values, std::back_inserter(begins));
  const bool is_few = begins.size() <= kFewValues;
  if (!is_few) begins = begins_of(values.front(), values.back());
  Json bins = Json::array();
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto from = std::ranges::lower_bound(values, begins[i]);
    const bool is_last = i + 1 == begins.size();
    const auto to = is_last ? values.end() : std::ranges::lower_bound(values, begins[i + 1]);
    const T last = is_few ? begins[i] : is_last ? values.back() : begins[i + 1];
    Json bin = {{"first", number_of(begins[i])},
                {"last", number_of(last)},
                {"num_records", to - from},
                {"where", nullptr}};
    if constexpr (std::is_integral_v<T>) {
      if (!is_last && !is_few) bin["last"] = number_of(static_cast<T>(last - 1));
    }
    if (from < to) {
      const std::string low = filter_number(*from, field.dtype);
      const std::string high = filter_number(*std::prev(to), field.dtype);
      bin["where"] = *from == *std::prev(to)
                         ? fmt::format("{} == {}", word, low)
                         : fmt::format("{} >= {} and {} <= {}", word, low, word, high);
    }
    bins.push_back(std::move(bin));
  }
  for (const auto& [name, count] : others) {
    bins.push_back({{"first", name},
                    {"last", name},
                    {"num_records", count},
                    {"where", fmt::format("{} == {}", word, name)}});
  }
  return bins;
}

}  // namespace

Json value_json(const Column& column, int64_t record) {
  return std::visit(
      [record](const auto& values) -> Json {
        if constexpr (requires { values.ends; }) {
          return values.at(record);
        } else {
          return number_of(values[static_cast<size_t>(record)]);
        }
      },
      column);
}

std::vector<std::string> bars_of(const ServedSplit& split) {
  std::vector<std::string> names;
  if (split.has_labels()) names.emplace_back("label");
  for (const Field& field : split.schema().fields) {
    const bool is_number = field.column && field.type == FieldType::scalar;
    if (is_number && (field.name != "label" || !split.has_labels())) names.push_back(field.name);
  }
  return names;
}

http::Response answer_histogram(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  ChoiceText text = parse_choice(request);
  const std::vector<std::string> fields = bars_of(split);
  std::string name = request.text("field", std::exchange(text.sort, "record"));
  if (std::ranges::find(fields, name) == fields.end()) name = split.has_labels() ? "label" : "";
  text.descending = false;
  Json bins = Json::array();
  if (name == "label" && split.has_labels()) {
    text.labels.clear();
    bins = histogram_of_classes(split, *state.choice(split, text));
  } else if (!name.empty()) {
    const auto choice = state.choice(split, text);
    const Field& field = split.schema().fields[split.schema().require(name)];
    bins = std::visit(
        [&](const auto& values) -> Json {
          if constexpr (requires { values.ends; }) {
            return Json::array();
          } else {
            return bins_of(field, values, *choice);
          }
        },
        *split.columns().get(name));
  }
  return json_response({{"field", name.empty() ? Json() : Json(name)}, {"bins", bins}});
}

}  // namespace ffkit::serve
