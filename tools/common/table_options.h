// A table of options (ffkit/base/option_table.h) on a command line: its values are given by the
// command line, and --help is made of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/base/option_table.h>

namespace ffkit {

// To be called, one after another, once the whole command line is parsed.
using WhenParsed = std::vector<std::function<void()>>;

// Adds --NAME to `app`; `option` must outlive it. `has_opposite`: --no-NAME turns a flag off.
void add_table_option(CLI::App& app, Option& option, WhenParsed& when_parsed, bool has_opposite);
// The groups of a table, in the order in which they begin.
std::vector<std::string> groups_of(const OptionTable& table);
// Adds --config FILE, which gives options of `app` in TOML. The command line wins over the file. To
// be called before the others are added: options are read in their order. `takes_all`: the file may
// have options that `app` does not; they are passed over.
void add_options_file(CLI::App& app, bool takes_all = false);
// Lets an option be given several times, each time with one value.
CLI::Option* let_repeat(CLI::Option* option);

}  // namespace ffkit
