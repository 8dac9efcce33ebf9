// What the commands of ffconvert share: the options of a conversion, and running it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

namespace ffkit {

struct ConvertArguments {
  std::string destination;
  ConvertOptions options;
  bool quiet = false;
  bool dry_run = false;
};

// Adds --threads, --shard-size, --zstd and so on; they write to `arguments`, which must outlive
// `command`.
void add_convert_options(CLI::App& command, ConvertArguments& arguments);
// Throws CLI::ValidationError where validate() would throw.
void validate_options(const CLI::App& command, const ConvertArguments& arguments);
// Opens the source after a look at the destination, converts it, and tells stderr how it went.
void run_conversion(ConvertArguments& arguments,
                    const std::function<std::unique_ptr<Source>()>& open);

// Keeps the command line for finishing_command().
void remember_command(int argc, char** argv);
// This command, for a shell in any folder; with --resume if `can_resume`.
std::string finishing_command(bool can_resume);

// On stderr. Where that is closed, or a full disk, is no reason to fail: the data set is what
// counts.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

// On stdout; throws Error(io) when it cannot be written. `parts`: what a split consists of.
void print_estimate(const ConvertEstimate& estimate, const char* records, const char* parts);

}  // namespace ffkit
