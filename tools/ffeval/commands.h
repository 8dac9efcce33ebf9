// The subcommands of ffeval: each is one .cpp that declares its options on the command line and
// sets the action that main runs.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace ffkit {

// Does the work after the command line was parsed; returns the exit status.
using Action = std::function<int()>;

void add_nuscenes_command(CLI::App& app, Action& action);
void add_rootnet_command(CLI::App& app, Action& action);

}  // namespace ffkit
