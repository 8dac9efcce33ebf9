#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <ffkit/base/option_names.h>
#include <ffkit/base/option_table.h>

#include "left_out.h"
#include "make_error.h"
#include "other_words.h"
#include "printable.h"

namespace ffkit {
namespace {

// 268435456 as "256M", 1000 as "1000".
std::string size_text(int64_t num_bytes) {
  constexpr std::string_view kUnits = "KMGTPE";
  size_t unit = 0;
  while (num_bytes != 0 && num_bytes % 1024 == 0 && unit < kUnits.size()) {
    num_bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? std::to_string(num_bytes)
                   : fmt::format("{}{}", num_bytes, kUnits.at(unit - 1));
}

std::string number_text(double number, bool is_size) {
  if (is_size) return size_text(static_cast<int64_t>(number));
  return number == std::floor(number) ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

std::optional<double> number_of(const OptionValue& value) {
  return std::visit(
      [](const auto& v) -> std::optional<double> {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          return static_cast<double>(v);
        } else {
          return std::nullopt;
        }
      },
      value);
}

[[noreturn]] void refuse_value(const Option& option, const std::string& message) {
  throw argument_error(option.key(), message);
}

void require_choice(const Option& option, const std::string& text) {
  const std::vector<std::string>& choices = option.choices;
  if (choices.empty() || std::ranges::find(choices, text) != choices.end()) return;
  require_built(option.left_out, text);
  const std::string name = option_name(option.key());
  if (const std::string now = current_name(option.key(), text); now != text) {
    refuse_value(option, fmt::format("{} is '{}', which is {} now", name, printable(text),
                                     option_set(option.key(), now)));
  }
  const bool are_few = choices.size() <= kMostListedChoices;
  refuse_value(option,
               fmt::format("{} is '{}'; {} {}", name, printable(text),
                           are_few ? "it must be one of" : "the nearest names are",
                           fmt::join(are_few ? choices : nearest_names(text, choices), ", ")));
}

void require_in_range(const Option& option, const OptionValue& value) {
  const std::optional<double> number = number_of(value);
  if (!option.range || !number || (option.allows_zero && *number == 0)) return;
  // Also refuses what is no number.
  if (*number >= option.range->min && *number <= option.range->max) return;
  refuse_value(option, fmt::format("{} is {}; it must be {}", option_name(option.key()),
                                   number_text(*number, option.is_size), option.range_text()));
}

// "mask=FOLDER" as ("mask", "FOLDER"). `key` is the option's.
NamedValues named_values(const std::string& key, const std::vector<std::string>& words) {
  NamedValues values;
  for (const std::string& word : words) {
    const size_t end = word.find('=');
    if (end == std::string::npos || end == 0) {
      throw argument_error(key, fmt::format("{}: '{}' must have the form NAME=VALUE",
                                            option_name(key), printable(word)));
    }
    std::string name = word.substr(0, end);
    if (std::ranges::find(values, name, &NamedValues::value_type::first) != values.end()) {
      throw argument_error(
          key, fmt::format("{}: '{}' is given twice", option_name(key), printable(name)));
    }
    values.emplace_back(std::move(name), word.substr(end + 1));
  }
  return values;
}

}  // namespace

std::string Option::key() const {
  std::string key = name;
  std::ranges::replace(key, '-', '_');
  return key;
}

void Option::give(const OptionValue& value, size_t part) {
  if (const auto* text = std::get_if<std::string>(&value)) require_choice(*this, *text);
  require_in_range(*this, value);
  parts.at(part).set(value);
  is_given = true;
}

std::string Option::range_text() const {
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, ", "));
  if (!range) return {};
  return fmt::format("{}{} .. {}", allows_zero ? "0, or " : "", number_text(range->min, is_size),
                     number_text(range->max, is_size));
}

std::string Option::default_text() const {
  if (!default_words.empty()) return default_words;
  const OptionValue value = parts.front().get();
  if (const bool* is_on = std::get_if<bool>(&value)) return *is_on ? "on" : "off";
  if (is_size) return size_text(std::get<int64_t>(value));
  return zero_word.empty() || text() != "0" ? text() : zero_word;
}

std::string Option::text() const {
  std::vector<std::string> texts;
  for (const OptionPart& part : parts) {
    const OptionValue value = part.get();
    if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
      texts.insert(texts.end(), words->begin(), words->end());
    } else {
      texts.push_back(std::visit([](const auto& v) { return fmt::format("{}", v); }, value));
    }
  }
  return fmt::format("{}", fmt::join(texts, is_list ? "," : " "));
}

Option& OptionTable::start(std::string name, std::string help) {
  Option& option = options_.emplace_back();
  option.name = std::move(name);
  option.group = group_;
  option.help = std::move(help);
  option.stored_behind = stored_behind_;
  return option;
}

Option& OptionTable::add_names(std::string name, std::vector<std::string>& value,
                               std::string help) {
  Option& option = start(std::move(name), std::move(help));
  option.is_list = true;
  option.parts.push_back(
      {.key = option.key(),
       .get = [&value] { return OptionValue(value); },
       .set = [&value](const OptionValue& v) { value = std::get<std::vector<std::string>>(v); }});
  return option;
}

Option& OptionTable::add_named(std::string name, NamedValues& value, std::string help) {
  Option& option = start(std::move(name), std::move(help));
  option.is_repeated = option.is_named = true;
  option.parts.push_back({.key = option.key(),
                          .get = [&value]() -> OptionValue {
                            std::vector<std::string> words;
                            for (const auto& [of, text] : value)
                              words.push_back(fmt::format("{}={}", of, text));
                            return words;
                          },
                          .set =
                              [&value, key = option.key()](const OptionValue& v) {
                                value = named_values(key, std::get<std::vector<std::string>>(v));
                              }});
  return option;
}

Option& OptionTable::add_words(std::string name, std::function<std::string()> get,
                               std::function<void(const std::string&)> set, std::string help) {
  Option& option = start(std::move(name), std::move(help));
  option.parts.push_back(
      {.key = option.key(),
       .get = [get = std::move(get)]() -> OptionValue { return get(); },
       .set = [set = std::move(set)](const OptionValue& v) { set(std::get<std::string>(v)); }});
  return option;
}

Option& OptionTable::add_paths(std::string name, std::function<std::vector<std::string>()> get,
                               std::function<void(const std::vector<std::string>&)> set,
                               std::string help) {
  Option& option = start(std::move(name), std::move(help));
  option.is_path = option.is_repeated = true;
  option.parts.push_back({.key = option.key(),
                          .get = [get = std::move(get)]() -> OptionValue {
                            std::vector<std::string> words = get();
                            if (words.size() > 1) return words;
                            return words.empty() ? std::string() : std::move(words.front());
                          },
                          .set =
                              [set = std::move(set)](const OptionValue& value) {
                                const auto* words = std::get_if<std::vector<std::string>>(&value);
                                set(words != nullptr
                                        ? *words
                                        : std::vector<std::string>{std::get<std::string>(value)});
                              }});
  return option;
}

const Option* OptionTable::find(std::string_view name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

Option* OptionTable::find(std::string_view name) {
  return const_cast<Option*>(std::as_const(*this).find(name));
}

bool OptionTable::is_given(std::string_view name) const {
  const Option* option = find(name);
  return option != nullptr && option->is_given;
}

void OptionTable::refuse(std::initializer_list<std::string_view> names,
                         const std::string& why) const {
  for (const std::string_view name : names) {
    if (!is_given(name)) continue;
    const Option& option = *find(name);
    refuse_value(option, option_name(option.key()) + " " + why);
  }
}

void OptionTable::check() const {
  for (const Option& option : options_) {
    const std::string value = option.text();
    const std::string name = option_name(option.key());
    if (!value.empty()) require_choice(option, value);
    for (const OptionPart& part : option.parts) {
      const OptionValue number = part.get();
      if (!option.unset || number_of(number) != option.unset) require_in_range(option, number);
    }
    if (!option.wrong.empty()) {
      const bool is_on = value == "true" && option.wrong.starts_with("off ");
      refuse_value(option, fmt::format("{} is {}; it must be {}", name,
                                       is_on ? "on" : printable(value), option.wrong));
    }
    // Checkpoints and config.toml hold them as text.
    if (option.is_path && option.is_stored && !is_utf8(value)) {
      refuse_value(option, fmt::format("{} is '{}'; it must be a path of UTF-8 text", name,
                                       printable(value)));
    }
  }
}

std::vector<const Option*> stored_options(const OptionTable& general, const OptionTable& own) {
  std::vector<const Option*> out, rest;
  for (const Option& option : own.options()) {
    if (option.is_stored) rest.push_back(&option);
  }
  for (const Option& option : general.options()) {
    if (!option.is_stored) continue;
    out.push_back(&option);
    const auto is_behind = [&](const Option* other) { return other->stored_behind == option.name; };
    std::copy_if(rest.begin(), rest.end(), std::back_inserter(out), is_behind);
    std::erase_if(rest, is_behind);
  }
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

}  // namespace ffkit
