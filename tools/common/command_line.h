// What the command lines of all tools share: errors as one line on stderr, exit status 0, 1
// (failed), 2 (wrong use) or 130 (stopped by a signal).
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/base/error.h>

#include "base/file/file.h"
#include "base/left_out.h"
#include "base/other_words.h"
#include "tools/common/storage_arguments.h"

namespace ffkit {

// `word` as one word of a shell's, quoted where it must be: of commands that are named for a user
// to run.
inline std::string shell_word(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A closed stdin, stdout or stderr would become the number of the first file that is opened, and
// messages would be written into a data set. Reading and writing these fails as before.
inline void occupy_closed_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    static_cast<void>(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

// A file that gets longer than allowed (ulimit -f) is to be an error of write(2), with a message,
// and not the end of the process.
inline void ignore_file_size_signal() {
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
}

// Says on stderr what the exception that is being handled says, on one line, and returns the exit
// status. Needs next to no memory, and writes to a stderr that is closed or full as well: these are
// no reason to end with a signal. `command`: the subcommand whose help explains a wrong use, or
// empty.
inline int report_exception(const char* name, const std::string& command = "") noexcept {
  const auto print = [name](const char* message) {
    for (const char* text : {name, ": error: ", message, "\n"}) {
      static_cast<void>(std::fputs(text, stderr));
    }
    return 1;
  };
  const char* no_thread =
      "a thread cannot be started; give fewer threads, or raise the limit on processes (ulimit -u, "
      "or the limit of the container) or on memory (ulimit -v)";
  try {
    throw;
  } catch (const CLI::ParseError& e) {
    const std::string space = command.empty() ? "" : " ";
    print((std::string(e.what()) + "; see " + name + space + command + " --help").c_str());
    return 2;
  } catch (const Error& e) {
    try {
      print(e.text(OptionStyle::command_line).c_str());
    } catch (const std::bad_alloc&) {
      print(e.what());
    }
    return e.code() == ErrorCode::cancelled ? 130 : 1;
  } catch (const std::bad_alloc&) {
    return print("there is not enough memory; give it more (ulimit -v, or its container)");
  } catch (const std::filesystem::filesystem_error& e) {
    return print(
        (e.path1().string() + ": the path cannot be examined: " + e.code().message()).c_str());
  } catch (const std::system_error& e) {
    // fmt's words; what is no file of ours is written by fmt to standard output alone.
    if (std::strncmp(e.what(), "cannot write to file", 20) == 0) {
      return print(("cannot write to standard output: " + e.code().message()).c_str());
    }
    return print(e.code() == std::errc::resource_unavailable_try_again ? no_thread : e.what());
  } catch (const std::exception& e) {
    // TBB's word for the same.
    return print(std::strstr(e.what(), "pthread_create") != nullptr ? no_thread : e.what());
  } catch (...) {
    return print("failed for an unknown reason");
  }
}

// For what was asked for: a disk that is full, or a reader that has ended, must not pass for
// success.
inline void require_written_stdout() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(ErrorCode::io, "cannot write to standard output", {.errno_value = errno});
}

// The whole main() of a tool called `name`: `run` makes the command line and calls run_tool().
// An exception that nobody can catch, as of a thread of TBB's that meets a limit, ends the process
// with its one line too, and with files as kill -9 would leave them.
template <typename Run>
int run_main(const char* name, Run run) {
  static const char* name_of_tool = name;
  std::set_terminate([] {
    static std::atomic_flag is_told;
    while (is_told.test_and_set()) pause();  // another thread is about to end the process
    if (std::current_exception() == nullptr) std::abort();
    std::_Exit(report_exception(name_of_tool));
  });
  try {
    return run();
  } catch (...) {
    return report_exception(name);
  }
}

// A text that is empty is a shell's variable that is not set: `--work-dir "$RUNS"` must not mean to
// keep nothing. One that is an option stands where the text was forgotten.
inline void refuse_wrong_texts(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_expected_min() == 0) continue;  // a flag, or an option that may stand alone
    for (const std::string& text : option->results()) {
      if (text.empty()) {
        throw CLI::ValidationError(option->get_name(),
                                   "its text is empty; leave the option out for its default");
      }
      if (text.starts_with("--") && app.get_option_no_throw(text) != nullptr) {
        throw CLI::ValidationError(
            option->get_name(),
            fmt::format("expected {}, found the option {}",
                        option->get_type_name().empty() ? "text" : option->get_type_name(), text));
      }
    }
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_wrong_texts(*command);
}

// A subcommand for each `what` that this build leaves out, which says so; --help names them in a
// line.
inline void add_left_out_commands(CLI::App& app, const char* what) {
  for (const std::string& name : left_out_names(what)) {
    CLI::App* command = app.add_subcommand(name)->group("")->allow_extras();
    command->set_help_flag();
    command->callback([what, name] { require_built(what, name); });
  }
  app.footer(app.get_footer() + left_out_line({what}));
}

// The long names of a command's options.
inline std::vector<std::string> option_names_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* own : command.get_options()) {
    for (const std::string& long_name : own->get_lnames()) names.push_back("--" + long_name);
  }
  return names;
}

// Of a whole command line of another program, all at once; empty: none of `extras` is in the table
// of other words. `program` has the options `names`.
inline std::string words_on_options_elsewhere(const std::string& program,
                                              const std::vector<std::string>& extras,
                                              const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;  // by what does the same
  for (const std::string& extra : extras) {
    const std::string option = extra.substr(0, extra.find('='));
    if (!extra.starts_with("-")) continue;
    if (!is_other_word(program, option, names)) continue;
    const std::string words = words_on_name(program, option, names, OptionStyle::command_line);
    auto alike = std::ranges::find(found, words, [](const auto& f) { return f.first; });
    if (alike == found.end()) alike = found.insert(alike, {words, {}});
    if (std::ranges::find(alike->second, option) == alike->second.end())
      alike->second.push_back(option);
  }
  std::string text;
  for (const auto& [words, theirs] : found) {
    text += fmt::format("{}'{}'{} {}", text.empty() ? program + " has no option " : "; for ",
                        fmt::join(theirs, "', '"), text.empty() ? ";" : "", words);
  }
  return text;
}

// What is wrong with the arguments that no command of `app` has taken: which one there is not, and
// which ones are meant instead. CLI11's own words list all of them, the last one first.
inline std::string words_on_extras(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  const std::vector<std::string> options = option_names_of(*command);
  if (std::string words = words_on_options_elsewhere(name, extras, options); !words.empty())
    return words;
  const std::string& first = extras.front();
  if (!first.starts_with("-")) {
    std::vector<std::string> names;
    for (const CLI::App* below : command->get_subcommands({})) names.push_back(below->get_name());
    if (names.empty()) {
      const CLI::Option* resume = command->get_option_no_throw("--resume");
      return fmt::format("'{}' is one argument too many for {}{}", first, name,
                         resume != nullptr && *resume ? "; --resume takes no value" : "");
    }
    return fmt::format("{} has no command '{}'; {}", name, first,
                       words_on_name(name + " command", first, names, OptionStyle::field));
  }
  const std::string option = first.substr(0, first.find('='));
  return fmt::format("{} has no option '{}'; {}", name, option,
                     words_on_name(name, option, options, OptionStyle::command_line));
}

// "--max-resolution is '400px'; it must be a whole number", for CLI11's "Could not convert:
// --max-resolution = 400px".
inline std::string words_on_wrong_value(const CLI::App& app, std::string text) {
  constexpr std::string_view kBegin = "Could not convert: ";
  const size_t end = text.find(" = ");
  if (!text.starts_with(kBegin) || end == std::string::npos) return text;
  const std::string name = text.substr(kBegin.size(), end - kBegin.size());
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const CLI::Option* option = command->get_option_no_throw(name);
  const std::string type = option == nullptr ? "" : option->get_type_name();
  const char* expected = type.starts_with("FLOAT")  ? "a number"
                         : type.starts_with("UINT") ? "a whole number, 0 or more"
                         : option != nullptr && option->get_type_size() > 1
                             ? "numbers, as in --help"
                             : "a whole number";
  return fmt::format("{} is '{}'; it must be {}", name, text.substr(end + 3), expected);
}

// Takes "64M" as bytes.
inline CLI::Validator size_in_bytes() {
  return {[](std::string& text) -> std::string {
            const std::string given = text;
            try {
              if (CLI::AsSizeValue(false)(text).empty()) return {};
            } catch (const CLI::ValidationError&) {  // an unknown unit
            }
            return fmt::format("'{}' is not a size; give a number of bytes, such as 64M", given);
          },
          "SIZE"};
}

// Adds --retry-seconds to the commands of `app`, whatever they read: it outranks the variable of
// the environment that the stores look at.
inline void add_retry_option(CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands({});
  for (CLI::App* command : commands) add_retry_option(*command);
  if (!commands.empty()) return;
  app.add_option_function<double>(
         "--retry-seconds",
         [](double seconds) {
           ::setenv("FFKIT_RETRY_SECONDS", fmt::format("{}", seconds).c_str(), /*overwrite=*/1);
         },
         "Number of seconds in which a request is repeated if a store does not answer (default: "
         "300). 0 means only one attempt")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
}

// "-a=resnet18", which argparse takes as "-a resnet18": CLI11 would take '=' as part of the value.
inline void drop_equals_of_short_options(int argc, char** argv) {
  for (int i = 1; i < argc && argv[i] != std::string_view("--"); ++i) {
    const std::string_view word = argv[i];
    if (word.size() < 4 || word[0] != '-' || word[1] == '-' || word[2] != '=') continue;
    std::ranges::copy(word.substr(3), argv[i] + 2);
    argv[i][word.size() - 1] = '\0';
  }
}

// Parses the command line of `app`, whose name is the program's, and runs `action`, which returns
// the exit status.
template <typename Action>
int run_tool(CLI::App& app, int argc, char** argv, Action action) {
  occupy_closed_streams();
  // A data set of hundreds of shards takes more than the 1,024 that shells allow by default.
  raise_open_files_limit();
  ignore_file_size_signal();
  drop_equals_of_short_options(argc, argv);
  add_retry_option(app);
  StorageArguments storage;
  add_storage_arguments(app, storage);
  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::ConversionError& e) {
      throw CLI::ParseError(words_on_wrong_value(app, e.what()), CLI::ExitCodes::ConversionError);
    } catch (const CLI::ParseError& e) {
      // Where a command is wanted and none was known, CLI11 says only that one is required.
      const bool is_extra =
          dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr ||
          dynamic_cast<const CLI::RequiresError*>(&e) != nullptr ||
          (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr && app.get_subcommands().empty());
      if (!is_extra || app.remaining_size(/*recurse=*/true) == 0) throw;
      throw CLI::ParseError(words_on_extras(app), CLI::ExitCodes::ExtrasError);
    }
    refuse_wrong_texts(app);
    give_storage_options(app, storage);
    return action();
  } catch (const CLI::Success& e) {  // --help, --version
    const int status = app.exit(e);
    std::cout.flush();
    return std::cout.fail() ? 1 : status;
  } catch (...) {
    const auto commands = app.get_subcommands();
    return report_exception(app.get_name().c_str(),
                            commands.empty() ? "" : commands.front()->get_name());
  }
}

}  // namespace ffkit
