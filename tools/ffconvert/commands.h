// The commands of ffconvert that are no kind of source. Parsing the command line sets `chosen`,
// which must outlive `app`, to what is to be done.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace ffkit {

using Action = std::function<void()>;

void add_v1_command(CLI::App& app, Action& chosen);
void add_transcode_command(CLI::App& app, Action& chosen);
void add_merge_commands(CLI::App& app, Action& chosen);  // merge and append
void add_copy_command(CLI::App& app, Action& chosen);
void add_gc_command(CLI::App& app, Action& chosen);

}  // namespace ffkit
