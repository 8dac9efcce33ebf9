#include "tools/table_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <variant>

#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>

namespace ffkit {
namespace {

constexpr const char* kEmptyText = "its text is empty; leave the option out for its default";

std::string help_of(const Option& option) {
  std::string help = with_option_names(option.help, OptionStyle::command_line);
  if (option.range && option.choices.empty()) help += fmt::format("; {}", option.range_text());
  return help;
}

// A value that the table refuses is wrong use.
void give(Option& option, const OptionValue& value, size_t part = 0) {
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && text->empty() && !option.choices.empty()) {
    throw CLI::ValidationError("--" + option.name, kEmptyText);
  }
  try {
    option.give(value, part);
  } catch (const Error& error) {
    throw CLI::ValidationError(error.text(OptionStyle::command_line));
  }
}

// What an option's value is set from.
template <typename T>
CLI::Option* add_values(CLI::App& app, Option& option) {
  const std::string name = "--" + option.name;
  if (option.parts.size() == 1) {
    return app.add_option_function<T>(
        name, [&option](const T& value) { give(option, value); }, help_of(option));
  }
  return app
      .add_option_function<std::vector<T>>(
          name,
          [&option](const std::vector<T>& values) {
            for (size_t i = 0; i < option.parts.size(); ++i) give(option, values.at(i), i);
          },
          help_of(option))
      ->type_size(static_cast<int>(option.parts.size()))
      ->expected(1);
}

CLI::Option* add_text(CLI::App& app, Option& option,
                      const std::function<void(const std::string&)>& take) {
  return app.add_option_function<std::string>("--" + option.name, take, help_of(option));
}

// A number, or the word that stands for 0.
CLI::Option* add_number_or_word(CLI::App& app, Option& option) {
  return add_text(app, option, [&option](const std::string& text) {
    double number = 0;
    if (text != option.zero_word && !CLI::detail::lexical_cast(text, number)) {
      throw CLI::ValidationError("--" + option.name,
                                 "'" + text + "' is neither a number nor " + option.zero_word);
    }
    give(option, number);
  });
}

// CLI11 would take "-4" and octal "010" without a word.
CLI::Option* add_unsigned(CLI::App& app, Option& option) {
  return add_text(app, option,
                  [&option](const std::string& text) {
                    uint64_t number = 0;
                    const auto [end, error] =
                        std::from_chars(text.data(), text.data() + text.size(), number);
                    if (error != std::errc{} || end != text.data() + text.size()) {
                      throw CLI::ValidationError("--" + option.name,
                                                 text + " is not a number from 0 to 2^64-1");
                    }
                    give(option, number);
                  })
      ->type_name("UINT");
}

// "train,val".
CLI::Option* add_names(CLI::App& app, Option& option) {
  return add_text(app, option, [&option](const std::string& text) {
    if (text.empty()) throw CLI::ValidationError("--" + option.name, kEmptyText);
    std::vector<std::string> names;
    std::istringstream stream(text + ",");
    for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
    give(option, names);
  });
}

CLI::Option* add_repeated(CLI::App& app, Option& option) {
  return let_repeat(app.add_option_function<std::vector<std::string>>(
      "--" + option.name, [&option](const std::vector<std::string>& words) { give(option, words); },
      help_of(option)));
}

CLI::Option* add_by_type(CLI::App& app, Option& option) {
  const OptionValue value = option.parts[0].get();
  if (option.is_repeated) return add_repeated(app, option);
  if (option.is_list) return add_names(app, option);
  if (!option.zero_word.empty()) return add_number_or_word(app, option);
  if (std::holds_alternative<int64_t>(value)) return add_values<int64_t>(app, option);
  if (std::holds_alternative<uint64_t>(value)) return add_unsigned(app, option);
  if (std::holds_alternative<double>(value)) return add_values<double>(app, option);
  return add_values<std::string>(app, option);
}

// CLI11 sets a flag's bool itself; it goes into the table once all is parsed.
CLI::Option* add_flag(CLI::App& app, Option& option, WhenParsed& when_parsed, bool has_opposite) {
  const auto is_on = std::make_shared<bool>(std::get<bool>(option.parts[0].get()));
  const std::string name = "--" + option.name;
  CLI::Option* added =
      app.add_flag(has_opposite ? name + ",!--no-" + option.name : name, *is_on, help_of(option));
  when_parsed.emplace_back([is_on, added, &option] {
    if (added->count() > 0) give(option, *is_on);
  });
  return added;
}

}  // namespace

CLI::Option* let_repeat(CLI::Option* option) {
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
}

void add_table_option(CLI::App& app, Option& option, WhenParsed& when_parsed, bool has_opposite) {
  const bool is_flag = std::holds_alternative<bool>(option.parts[0].get());
  CLI::Option* added =
      is_flag ? add_flag(app, option, when_parsed, has_opposite) : add_by_type(app, option);
  if (!option.is_offered) added->group("");
  if (is_flag) return;
  // Of several values, default_text() is the first one's.
  added->default_str(option.parts.size() > 1 ? option.text() : option.default_text());
  if (!option.type_name.empty()) added->type_name(option.type_name);
  if (!option.choices.empty()) added->type_name(fmt::format("{}", fmt::join(option.choices, "|")));
  if (option.is_size) {
    added->transform(CLI::AsSizeValue(false));
    if (!option.range) added->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()));
    added->option_text("SIZE=" + option.default_text());
  }
}

std::vector<std::string> groups_of(const OptionTable& table) {
  std::vector<std::string> groups;
  for (const Option& option : table.options()) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  return groups;
}

}  // namespace ffkit
