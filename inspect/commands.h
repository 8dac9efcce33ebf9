// The subcommands of ffinspect: each is one .cpp that declares its options on the command line and
// sets the action that main runs.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include <ffkit/format/dataset.h>

#include "text/output.h"

namespace ffkit {

// Does the work after the command line was parsed; returns the exit status.
using Action = std::function<int()>;

// The subcommands: a file commands/<name>.cpp has the function
//
//   void add_<name>_command(CLI::App& app, Action& action);
//
// whose call is written from the name of the file: a new subcommand needs no other change.
void add_all_commands(CLI::App& app, Action& action);

struct Target;

// Adds a subcommand with the options of `target`, which must live until the action has run.
// `footer` ends its --help and says what
// --json prints.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      Target& target, const std::string& footer);
// Adds the options that choose records.
void add_choice_options(CLI::App& command, Target& target);
// Adds --output of a command that makes a picture.
void add_picture_output(CLI::App& command, std::string& output);
// Throws CLI::ValidationError where the picture would go to a terminal, or beside JSON.
void require_picture_output(const std::string& output, bool json);

// {"split", "record", "fields"} of a record, with the class of its label.
Json record_document(const Dataset& dataset, int64_t number, const RecordView& record, Json fields);

}  // namespace ffkit
