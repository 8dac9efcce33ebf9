#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>

#include "make_error.h"
#include "other_words.h"

namespace ffkit {
namespace {

// kBegin option [kValue value | kFlag] kEnd
constexpr char kBegin = '\x01';
constexpr char kValue = '\x02';
constexpr char kFlag = '\x03';
constexpr char kEnd = '\x04';

bool is_option(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Fields of structs whose names differ from those of their options.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kFields = {{
    {"shard_size", "shard_bytes"},
    {"zstd", "zstd_level"},
    {"zstd_dictionary", "zstd_dictionary_bytes"},
    {"max_record", "max_record_bytes"},
    {"check_images", "check"},
    {"payload", "content"},
    {"sweeps", "lidar_sweeps"},
    {"scenes", "num_train_scenes"},
    {"val_scenes", "num_val_scenes"},
    {"frames", "num_keyframes"},
}};

std::string_view field_of(std::string_view option) {
  const auto* found = std::ranges::find(kFields, option, &decltype(kFields)::value_type::first);
  return found == kFields.end() ? option : found->second;
}

std::string on_command_line(std::string_view field) {
  std::string option = fmt::format("--{}", field);
  std::ranges::replace(option, '_', '-');
  return option;
}

std::string named(std::string_view field, OptionStyle style) {
  if (style == OptionStyle::command_line) return on_command_line(field);
  // Without quotes, readers would take a name of one word ("order") for the English word.
  const bool is_one_word = field.find('_') == field.npos;
  return is_one_word ? fmt::format("'{}'", field) : std::string(field);
}

std::string set_to(std::string_view field, std::string_view value, OptionStyle style) {
  if (style == OptionStyle::command_line) {
    return fmt::format("{} {}", on_command_line(field), value);
  }
  if (style == OptionStyle::field) return fmt::format("{} = {}", field, value);
  const bool is_number = !value.empty() && value.find_first_not_of("0123456789.-") == value.npos;
  const bool is_constant = value == "None" || value == "True" || value == "False";
  return is_number || is_constant ? fmt::format("{}={}", field, value)
                                  : fmt::format("{}=\"{}\"", field, value);
}

std::string turned_on(std::string_view field, OptionStyle style) {
  if (style == OptionStyle::command_line) return on_command_line(field);
  return style == OptionStyle::field ? fmt::format("{} = true", field)
                                     : fmt::format("{}=True", field);
}

// What stands between two marks; as it is, marks included, when it is none of ours.
std::string rendered(std::string_view marked, OptionStyle style) {
  const size_t end_of_name = marked.find_first_of("\x02\x03");
  const std::string_view option = marked.substr(0, end_of_name);
  if (!is_option(option)) return fmt::format("{}{}{}", kBegin, marked, kEnd);
  const std::string_view name = style == OptionStyle::field ? field_of(option) : option;
  if (end_of_name == marked.npos) return named(name, style);
  if (marked[end_of_name] == kFlag) return turned_on(name, style);
  return set_to(name, marked.substr(end_of_name + 1), style);
}

}  // namespace

std::string option_name(std::string_view option) {
  return fmt::format("{}{}{}", kBegin, option, kEnd);
}

std::string option_set(std::string_view option, std::string_view value) {
  return fmt::format("{}{}{}{}{}", kBegin, option, kValue, value, kEnd);
}

std::string option_on(std::string_view option) {
  return fmt::format("{}{}{}{}", kBegin, option, kFlag, kEnd);
}

std::string with_option_names(std::string_view text, OptionStyle style) {
  std::string out;
  while (true) {
    const size_t begin = text.find(kBegin);
    const size_t end = begin == text.npos ? text.npos : text.find(kEnd, begin);
    if (end == text.npos) break;
    out += text.substr(0, begin);
    out += rendered(text.substr(begin + 1, end - begin - 1), style);
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

namespace {

constexpr size_t kMostNames = 3;

// Levenshtein's, a row at a time.
size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (plain(a[i]) == plain(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

void refuse_name(std::string_view what, std::string_view name, std::vector<std::string> names) {
  if (const std::string now = current_name(what, name); now != name) {
    throw error_of(ErrorCode::invalid_argument, "unknown {} '{}'; it is '{}' now", what, name, now);
  }
  const std::string last = std::move(names.back());
  names.pop_back();
  throw error_of(ErrorCode::invalid_argument, "unknown {} '{}'; expected one of {} and {}", what,
                 name, fmt::join(names, ", "), last);
}

std::vector<std::string> nearest_names(std::string_view name, std::vector<std::string> names) {
  std::ranges::stable_sort(names, {},
                           [&](const std::string& n) { return letters_between(name, n); });
  if (names.size() > kMostNames) names.resize(kMostNames);
  return names;
}

}  // namespace ffkit
