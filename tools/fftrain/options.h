// The command line of fftrain.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/launch/launch.h>
#include <ffkit/trainer/train_options.h>
#include <ffkit/trainer/trainer.h>

namespace ffkit {

bool is_data_set(const std::filesystem::path& path);

struct TrainCommand {
  TrainOptions options;
  OptionTables tables;  // over `options`
  // Why the task is not known; to be thrown when the command line is right.
  std::exception_ptr late_error;
  // It is known, and left out of this build: its options are, too, and nothing is said of them.
  bool is_left_out = false;
  bool resume = false;  // go on in the work folder, or begin
  std::filesystem::path resume_from;
  std::filesystem::path evaluate;
  std::filesystem::path predict;
  std::filesystem::path export_from;
  std::filesystem::path output;  // of an export
  bool script = false;           // beside it
  std::string names;             // of its tensors
  bool quiet = false;
  std::string progress = "auto";
  std::string benchmark;  // forward or step; empty: none
  bool loader_only = false;
  bool bottleneck = false;
  std::filesystem::path profile;
  std::filesystem::path results;    // of an evaluation
  std::filesystem::path confusion;  // likewise
  LaunchOptions launch;
  ResumeOptions resume_options;
};

// Looks through the command line for what says which task it is, and puts the options that all
// others override into `command`: those of a checkpoint (--resume-from, --resume, --evaluate), or
// the defaults of the task.
void set_first_options(int argc, char** argv, TrainCommand& command);

// Adds all options, --config too, and the texts of --help. They write to `command`; it and `app`
// must outlive the parsing.
void add_train_options(CLI::App& app, TrainCommand& command);

// The names of the options that were given, on the command line or in --config.
std::vector<std::string> given_options(const CLI::App& app, const TrainCommand& command);

}  // namespace ffkit
