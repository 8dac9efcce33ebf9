// --storage and --source-storage: options of the stores that a command line names.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace ffkit {

struct StorageArguments {
  std::vector<std::string> options;         // KEY=VALUE
  std::vector<std::string> source_options;  // of commands with SRC and DST
};

// Adds them to the commands of `app`; `arguments` must outlive it.
void add_storage_arguments(CLI::App& app, StorageArguments& arguments);

// Gives them to the places on the command line, which has been parsed. Throws CLI::ParseError for
// what is no KEY=VALUE, Error(invalid_argument) for options that there are not, or whose place is
// in no store. No message has a value.
void give_storage_options(CLI::App& app, const StorageArguments& arguments);
// The same to what is read from the first store of `places`, for a program that reads before its
// command line is known. False: none of them is in a store.
bool give_storage_options(const std::vector<std::string>& places,
                          const std::vector<std::string>& options);

// `words` of a command line as they may be shown and stored: "--storage KEY=...".
std::vector<std::string> without_values(std::vector<std::string> words);

}  // namespace ffkit
