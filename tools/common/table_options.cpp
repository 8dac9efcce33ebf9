#include "tools/common/table_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "base/file/user_text.h"
#include "base/left_out.h"
#include "base/number_text.h"
#include "base/other_words.h"
#include "tools/common/command_line.h"

namespace ffkit {
namespace {

constexpr const char* kEmptyText = "its text is empty; leave the option out for its default";

std::string help_of(const Option& option) {
  std::string help = with_option_names(option.help, OptionStyle::command_line);
  if (option.range && option.choices.empty())
    help += fmt::format(". Values: {}", option.range_text());
  return help;
}

// "-b,--batch-size". The short names are those of torch's example for ImageNet.
std::string names_of(const Option& option) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort = {
      {{"arch", "-a,"}, {"batch-size", "-b,"}, {"log-every", "-p,"}, {"num-threads", "-j,"}}};
  const auto* found = std::ranges::find(kShort, option.name, [](const auto& s) { return s.first; });
  return fmt::format("{}--{}", found == kShort.end() ? "" : found->second, option.name);
}

// A value that the table refuses is wrong use.
void give(Option& option, const OptionValue& value, size_t part = 0) {
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && text->empty() && !option.choices.empty()) {
    throw CLI::ValidationError("--" + option.name, kEmptyText);
  }
  try {
    option.give(value, part);
  } catch (const LeftOutError&) {
    throw;
  } catch (const Error& error) {
    throw CLI::ValidationError(error.text(OptionStyle::command_line));
  }
}

// What an option's value is set from.
template <typename T>
CLI::Option* add_values(CLI::App& app, Option& option) {
  const std::string name = names_of(option);
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
  return app.add_option_function<std::string>(names_of(option), take, help_of(option));
}

// A number, or the word that stands for 0.
CLI::Option* add_number_or_word(CLI::App& app, Option& option) {
  return add_text(app, option, [&option](const std::string& text) {
    double number = 0;
    // None and -1 are other programs' words for it.
    const bool is_zero = text == option.zero_word || text == "None" || text == "-1";
    if (!is_zero && !CLI::detail::lexical_cast(text, number)) {
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
                    const auto number = number_of_text<uint64_t>(text);
                    if (!number) {
                      throw CLI::ValidationError("--" + option.name,
                                                 text + " is not a whole number from 0 to 2^64-1");
                    }
                    give(option, *number);
                  })
      ->type_name("UINT");
}

CLI::Option* add_repeated(CLI::App& app, Option& option,
                          const std::function<void(const std::vector<std::string>&)>& take) {
  return let_repeat(
      app.add_option_function<std::vector<std::string>>("--" + option.name, take, help_of(option)));
}

// "train,val", or a list in a file.
CLI::Option* add_names(CLI::App& app, Option& option) {
  return add_repeated(app, option, [&option](const std::vector<std::string>& words) {
    std::vector<std::string> names;
    for (const std::string& word : words) {
      if (word.empty()) throw CLI::ValidationError("--" + option.name, kEmptyText);
      std::istringstream stream(word + ",");
      for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
    }
    give(option, names);
  });
}

// Values that need not have the option's name before them: "image=FOLDER mask=FOLDER".
CLI::Option* add_argument(CLI::App& app, Option& option) {
  return app.add_option_function<std::vector<std::string>>(
      option.name + ",--" + option.name,
      [&option](const std::vector<std::string>& words) { give(option, words); }, help_of(option));
}

CLI::Option* add_by_type(CLI::App& app, Option& option) {
  const OptionValue value = option.parts[0].get();
  if (option.is_argument) return add_argument(app, option);
  if (option.is_repeated) {
    return add_repeated(app, option, [&option](const auto& words) { give(option, words); });
  }
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

// Where `item` is in the text of a file, by numbers from 1.
std::vector<int> lines_of(const std::string& text, const CLI::ConfigItem& item) {
  std::vector<int> found;
  std::istringstream lines(text);
  bool is_in_section = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::string key = CLI::detail::trim_copy(line.substr(0, line.find('=')));
    is_in_section = is_in_section || key.starts_with('[');
    CLI::detail::remove_quotes(key);
    if (key == item.fullname() || (key == item.name && is_in_section)) found.push_back(number);
  }
  return found.empty() ? std::vector<int>{number} : found;
}

bool is_for_files(const CLI::Option* option) {
  return option != nullptr && option->get_configurable() && !option->get_lnames().empty();
}

// What is meant by a name in a file that is no option.
std::string words_on_file_option(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const bool is_hidden = option->get_group().empty();
    if (is_for_files(option) && !is_hidden) names.push_back(option->get_lnames().front());
  }
  const std::string program = app.get_parent() == nullptr
                                  ? app.get_name()
                                  : app.get_parent()->get_name() + " " + app.get_name();
  return "cannot be set in a file; " + words_on_name(program, name, names, OptionStyle::field);
}

// Gives the options in the file `path` to those of `app` that the command line has not given.
void take_options_file(CLI::App& app, const std::string& path, bool takes_all) {
  std::string text;
  try {
    text = read_user_text(path);
  } catch (const Error& error) {
    throw CLI::ConfigError(error.text(OptionStyle::command_line));
  }
  if (text.find('\0') != std::string::npos) {
    throw CLI::ConfigError(path + ": is not text: it contains a zero byte");
  }
  std::vector<const CLI::Option*> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) given.push_back(option);
  }
  const auto is_given = [&given](const CLI::Option* option) {
    return std::ranges::find(given, option) != given.end();
  };
  // What an earlier version of fftrain may have written has names of then.
  const bool is_written = text.starts_with("# The options of a run of fftrain");
  std::istringstream lines(text);
  for (CLI::ConfigItem item : CLI::ConfigTOML().from_config(lines)) {
    if (item.name == "++" || item.name == "--") continue;  // begin and end of a section
    const std::vector<int> at = lines_of(text, item);
    if (is_written) {
      item.name = current_name("option", item.name);
      std::ranges::replace(item.name, '_', '-');
    }
    const auto refuse = [&](int line, const std::string& what) {
      throw CLI::ConfigError(
          fmt::format("{}: line {}: '{}' {}", path, line, item.fullname(), what));
    };
    CLI::Option* option = app.get_option_no_throw("--" + item.name);
    if (!item.parents.empty() || !is_for_files(option)) {
      if (takes_all) continue;
      refuse(at.front(), words_on_file_option(app, item.name));
    }
    // Of several values, CLI11 would take the last one.
    const auto most = static_cast<size_t>(std::max(1, option->get_items_expected_max()));
    if (item.inputs.size() > most) {
      refuse(at.front(), fmt::format("has {} values, but takes {}", item.inputs.size(), most));
    }
    if (is_given(option) || std::ranges::any_of(option->get_excludes(), is_given)) continue;
    if (option->count() > 0) refuse(at.back(), "appears twice");
    if (option->get_expected_min() == 0) {
      option->add_result(option->get_flag_value(item.name, CLI::ConfigTOML().to_flag(item)));
    } else {
      option->add_result(item.inputs);
    }
  }
}

// A pipe would be waited for.
CLI::Validator regular_file() {
  return CLI::Validator(
      [](const std::string& path) {
        std::error_code error;
        if (std::filesystem::is_regular_file(path, error)) return std::string();
        return "'" + path + "' is not a file";
      },
      "");
}

}  // namespace

void add_options_file(CLI::App& app, bool takes_all) {
  app.add_option_function<std::string>(
         "--config",
         [&app, takes_all](const std::string& path) { take_options_file(app, path, takes_all); },
         "Reads options from a TOML file. Options on the command line have priority over the file")
      ->type_name("FILE")
      ->check(regular_file())
      ->configurable(false);
}

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
  if (option.choices.size() > kMostListedChoices) {
    added->type_name("NAME");
  } else if (!option.choices.empty()) {
    added->type_name(fmt::format("{}", fmt::join(option.choices, "|")));
  }
  if (option.is_size) {
    added->transform(size_in_bytes());
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
