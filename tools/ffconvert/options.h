// What the commands of ffconvert share: the options of a conversion, and running it. And the
// commands that are no kind of source.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/convert.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/progress_bar.h>
#include <ffkit/converter/source.h>

#include "base/printable.h"

namespace ffkit {

// What is the program's own, beside the options of the converter's tables.
struct ConvertArguments {
  std::string destination;
  bool quiet = false;
  bool dry_run = false;
};

// Adds an argument that must be given, such as DST.
void add_place(CLI::App& command, const char* name, std::string& place, const std::string& help);
// Adds SRC, if `source` is not null, and DST.
void add_folders(CLI::App& command, std::string* source, const std::string& source_help,
                 ConvertArguments& arguments);
// Adds the options of `table`, --dry-run and --quiet. `when_parsed` is called once all values are
// in the table; what it throws as Error is wrong use. All must outlive `command`.
void add_options(CLI::App& command, OptionTable& table, ConvertArguments& arguments,
                 std::function<void()> when_parsed);
// Calls `check`; an Error of it is wrong use of `command`.
void as_wrong_use(const std::string& command, const std::function<void()>& check);
// Opens the source after a look at the destination, converts it, and tells stderr how it went.
void run_conversion(const ConvertArguments& arguments, ConvertOptions& options,
                    const std::function<std::unique_ptr<Source>()>& open);

// Keeps the command line for finishing_command().
void remember_command(int argc, char** argv);
// This command, for a shell in any folder; with --resume if `can_resume`, and with `part` in place
// of one that was found in the environment.
std::string finishing_command(bool can_resume, const ConvertPart& part = {});

// On stderr. Where that is closed, or a full disk, is no reason to fail: the data set is what
// counts.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = without_marks(fmt::format(format, std::forward<Args>(args)...));
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

// On stderr, with options as they are on the command line.
void say_note(const std::string& sentence);
// Shows the progress of work with `options` on `bar`, and its notes above. The bar must outlive it.
template <typename Options>
void show_on(ProgressBar& bar, Options& options) {
  options.note = [&bar](const std::string& sentence) {
    bar.wipe();
    say_note(sentence);
  };
  options.progress = [&bar](const ConvertProgress& progress) { bar.update(progress); };
}

// "12.3 MB".
inline std::string in_megabytes(int64_t num_bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(num_bytes) / 1e6);
}

// "train: 12 pictures in 1 shard, 0.3 MB": of a split that was written. `part`: what it consists
// of.
std::string split_line(const SplitSummary& split, const char* records, const char* part);
// On stdout; throws Error(io) when it cannot be written. `parts`: what a split consists of.
void print_estimate(const ConvertEstimate& estimate, const char* records, const char* parts);

// The commands that are no kind of source. Parsing the command line sets `chosen`, which must
// outlive `app`, to what is to be done.
using Action = std::function<void()>;
void add_v1_command(CLI::App& app, Action& chosen);
void add_transcode_command(CLI::App& app, Action& chosen);
void add_merge_commands(CLI::App& app, Action& chosen);  // merge and append
void add_copy_command(CLI::App& app, Action& chosen);
void add_gc_command(CLI::App& app, Action& chosen);
void add_remove_command(CLI::App& app, Action& chosen);

}  // namespace ffkit
