#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include <ffkit/trainer/option_table.h>

#include "format/printable.h"

namespace ffkit {

Option& Option::require(bool holds, const std::string& range) {
  if (!holds && wrong.empty()) wrong = range;
  return *this;
}

Option& Option::set_type_name(std::string text) {
  type_name = std::move(text);
  return *this;
}

Option& Option::set_choices(std::vector<std::string> words) {
  choices = std::move(words);
  return *this;
}

Option& Option::set_zero_word(std::string word) {
  zero_word = std::move(word);
  return *this;
}

Option& Option::set_size() {
  is_size = true;
  return *this;
}

Option& Option::set_stored(bool on) {
  is_stored = on;
  return *this;
}

Option& Option::set_local() {
  is_local = true;
  return *this;
}

Option& Option::set_names_model() {
  names_model = true;
  return *this;
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
  return fmt::format("{}", fmt::join(texts, " "));
}

Option& OptionTable::start(std::string name, std::string help) {
  Option& option = options_.emplace_back();
  option.name = std::move(name);
  option.group = group_;
  option.help = std::move(help);
  option.stored_behind = stored_behind_;
  return option;
}

Option& OptionTable::add_words(std::string name, std::function<std::string()> get,
                               std::function<void(const std::string&)> set, std::string help) {
  Option& option = start(std::move(name), std::move(help));
  option.parts.push_back(
      {.key = key_of(option.name),
       .get = [get = std::move(get)]() -> OptionValue { return get(); },
       .set = [set = std::move(set)](const OptionValue& v) { set(std::get<std::string>(v)); }});
  return option;
}

Option& OptionTable::add_paths(std::string name, std::function<std::vector<std::string>()> get,
                               std::function<void(const std::vector<std::string>&)> set,
                               std::string help) {
  Option& option = start(std::move(name), std::move(help));
  option.is_path = option.is_repeated = true;
  option.parts.push_back({.key = key_of(option.name),
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

std::string OptionTable::key_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const Option* OptionTable::find(std::string_view name) const {
  for (const Option& option : options_) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

void OptionTable::check() const {
  for (const Option& option : options_) {
    const std::string value = option.text();
    if (!option.choices.empty() && !value.empty() &&
        std::find(option.choices.begin(), option.choices.end(), value) == option.choices.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there is no {} '{}'; there are {}", option.name, printable(value),
                              fmt::join(option.choices, ", ")));
    }
    if (!option.wrong.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{} must be {}, but it is {}", option.name, option.wrong, printable(value)));
    }
    // Checkpoints and config.toml hold them as text.
    if (option.is_path && !is_utf8(value)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} must be a path of UTF-8 text, but it is {}", option.name,
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
