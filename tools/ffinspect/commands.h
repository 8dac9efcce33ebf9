// The subcommands of ffinspect: each is one .cpp that declares its options on the command line and sets the action that main runs.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace ffkit {

// Does the work after the command line was parsed; returns the exit status.
using Action = std::function<int()>;

void add_info_command(CLI::App& app, Action& action);
void add_ls_command(CLI::App& app, Action& action);
void add_cat_command(CLI::App& app, Action& action);
void add_verify_command(CLI::App& app, Action& action);
void add_stats_command(CLI::App& app, Action& action);
void add_export_command(CLI::App& app, Action& action);
void add_view_command(CLI::App& app, Action& action);
void add_plot_command(CLI::App& app, Action& action);

struct Target;

// Adds a subcommand with the options of `target`, which must live until the action has run. `footer` ends its --help and says what
// --json prints.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      Target& target, const std::string& footer);
// Adds the options that choose records.
void add_choice_options(CLI::App& command, Target& target);

}  // namespace ffkit
