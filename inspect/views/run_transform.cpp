#include "views/run_transform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/trainer/picture_options.h>

#include "base/make_error.h"
#include "tools/common/table_options.h"

namespace ffkit {
namespace {

// Gives the options of the file to the table, as fftrain --config does; returns the run's task.
std::string read_run(const std::filesystem::path& config, OptionTable& table) {
  std::error_code no_file;
  if (!std::filesystem::is_regular_file(config, no_file)) {
    throw error_at(config, ErrorCode::not_found, "cannot be opened");
  }
  std::string task = "classification";
  try {
    CLI::App app;
    add_options_file(app, /*takes_all=*/true);
    app.add_option("--task", task);
    WhenParsed when_parsed;
    for (Option& option : table.options()) add_table_option(app, option, when_parsed, true);
    app.parse(std::vector<std::string>{"--config=" + config.string()});
    for (const auto& finish : when_parsed) finish();
  } catch (const CLI::Error& error) {
    throw error_at(config, ErrorCode::invalid_argument, "is no file of options: {}", error.what());
  }
  return task;
}

// Values are checked when a table is made.
void check_pictures(const std::filesystem::path& config, PictureOptions& options) {
  OptionTable table;
  describe_pictures(options, table, std::numeric_limits<int64_t>::max());
  try {
    table.check();
  } catch (const Error& error) {
    throw error_at(config, ErrorCode::invalid_argument, "{}",
                   error.text(OptionStyle::command_line));
  }
}

// What no record's picture shows: it is of a batch, or of an epoch.
std::vector<std::string> left_out_of(const PictureOptions& options) {
  std::vector<std::string> mixed;
  if (options.mixup_alpha > 0) {
    mixed.push_back(fmt::format("MixUp (mixup-alpha = {})", options.mixup_alpha));
  }
  if (options.cutmix_alpha > 0) {
    mixed.push_back(fmt::format("CutMix (cutmix-alpha = {})", options.cutmix_alpha));
  }
  std::vector<std::string> sentences;
  if (!mixed.empty()) {
    sentences.push_back(
        fmt::format("The run also mixes the pictures of a batch by {}, which is not shown here.",
                    fmt::join(mixed, " or ")));
  }
  if (options.progressive_size > 0) {
    sentences.push_back(fmt::format(
        "The first epochs of the run have smaller pictures, from {} pixels on. Here all have {}.",
        options.progressive_size, options.image_size));
  }
  return sentences;
}

}  // namespace

RunTransform transform_of_run(const std::filesystem::path& config) {
  PictureOptions options;
  OptionTable table;
  describe_pictures(options, table, std::numeric_limits<int64_t>::max());
  const std::string task = read_run(config, table);
  if (task != "classification" ||
      (!table.is_given("image-size") && !table.is_given("crop-scale"))) {
    throw error_at(config, ErrorCode::invalid_argument,
                   "is not of a run on pictures with labels, whose transforms can be shown: {}",
                   task == "classification" ? "it has neither image-size nor crop-scale"
                                            : fmt::format("its task is '{}'", task));
  }
  check_pictures(config, options);
  return {.text = training_transforms(options, options.image_size),
          .left_out = left_out_of(options)};
}

std::string shown_transform_of_run(const std::filesystem::path& config) {
  RunTransform run = transform_of_run(config);
  for (const std::string& sentence : run.left_out) {
    fmt::print(stderr, "ffinspect: warning: {}: {}\n", config.string(), sentence);
  }
  return std::move(run.text);
}

}  // namespace ffkit
