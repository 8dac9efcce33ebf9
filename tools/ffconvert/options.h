// What the commands of ffconvert share: the options of a conversion, running it, and stopping at a signal.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

namespace ffkit {

struct ConvertArguments {
  std::string destination;
  ConvertOptions options;
  bool quiet = false;
  bool dry_run = false;
};

// Adds --threads, --shard-size, --zstd and so on; they write to `arguments`, which must outlive `command`.
void add_convert_options(CLI::App& command, ConvertArguments& arguments);
// Throws CLI::ValidationError where validate() would throw.
void validate_options(const CLI::App& command, const ConvertArguments& arguments);
// Opens the source after a look at the destination, converts it, and tells stderr how it went.
void run_conversion(ConvertArguments& arguments,
                    const std::function<std::unique_ptr<Source>()>& open);

// What a signal sets after catch_signals().
const std::atomic<bool>* stop_flag();
void catch_signals();

}  // namespace ffkit
