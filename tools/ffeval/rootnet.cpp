// ffeval rootnet: MRPE and AP of roots in RootNet's results file.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/pose/root_truth.h>

#include "base/make_error.h"
#include "commands.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr const char* kRootNetFooter =
    R"(The results are a JSON array as RootNet's bbox_root_*_output.json, in any order. MRPE is the mean distance between found and true roots, and of its parts, in
the set's unit (mm; 3DPW m); of Human3.6M by action too. It needs an entry for each person of the split: the one of its picture, and of several there the one
with its ann_id or box. AP is the average precision of roots, at --threshold, of sets that say which annotations are valid (MuPoTS), by the file's scores.

With --json: one document with persons, mrpe {total, x, y, z}, actions {name: MRPE} and ap; what the set's annotations do not allow is null.

Example:
  ffeval rootnet /fast/mupots --split test --results bbox_root_mupots_output.json)";

struct RootNetCommand {
  std::string data;
  std::string split;
  std::string results;
  double threshold = 250;
  bool json = false;
  std::string output;
};

nlohmann::ordered_json json_of_roots(const pose::RootTruth& truth,
                                     const pose::RootEvaluation& figures) {
  nlohmann::ordered_json json = {{"persons", truth.persons.size()},
                                 {"mrpe", nullptr},
                                 {"actions", nlohmann::ordered_json::object()},
                                 {"ap", nullptr}};
  if (figures.error) {
    json["mrpe"] = {{"total", figures.error->total},
                    {"x", figures.error->x},
                    {"y", figures.error->y},
                    {"z", figures.error->z}};
  }
  for (int action = 0; action < pose::kNumActions; ++action) {
    const auto& error = figures.by_action[action];
    if (error) json["actions"][pose::action_name(action)] = error->total;
  }
  if (figures.average_precision) json["ap"] = *figures.average_precision;
  return json;
}

std::string text_of_roots(const pose::RootEvaluation& figures) {
  std::string text;
  if (figures.error) {
    // As the published code prints it.
    text += fmt::format("MRPE >> tot: {:.2f}, x: {:.2f}, y: {:.2f}, z: {:.2f}\n",
                        figures.error->total, figures.error->x, figures.error->y, figures.error->z);
  }
  std::string actions;
  for (int action = 0; action < pose::kNumActions; ++action) {
    const auto& error = figures.by_action[action];
    if (error) actions += fmt::format("{}: {:.2f} ", pose::action_name(action), error->total);
  }
  if (!actions.empty()) text += actions + "\n";
  if (figures.average_precision) text += fmt::format("AP_root: {}\n", *figures.average_precision);
  return text;
}

int evaluate_rootnet(const RootNetCommand& options) {
  const Dataset split = Dataset::open(options.data, options.split);
  std::vector<std::filesystem::path> inputs = {options.results, split.path() / "manifest.json"};
  for (int64_t i = 0; i < split.num_shards(); ++i) inputs.push_back(split.shard(i).path());
  require_no_input(options.output, inputs);
  const pose::RootTruth truth = pose::read_root_truth(split);
  const pose::RootEvaluation figures = pose::evaluate_results(
      pose::read_root_results(options.results, truth), truth, options.results, options.threshold);
  if (figures.is_empty()) {
    throw error_at(split.path(), ErrorCode::invalid_argument,
                   "has no person whose depth is known; there is nothing to evaluate against");
  }
  const std::string text =
      options.json ? json_of_roots(truth, figures).dump(2) + '\n' : text_of_roots(figures);
  write_output(options.output, text);
  return 0;
}

}  // namespace

void add_rootnet_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<RootNetCommand>();
  CLI::App* command = app.add_subcommand(
      "rootnet", "MRPE and AP of persons' roots, as RootNet's code computes them");
  command->footer(kRootNetFooter);
  command
      ->add_option("DATA,--data", options->data,
                   "Data set folder that ffconvert coco --persons wrote, or the folder of one of "
                   "its splits")
      ->required()
      ->option_text(" ");
  command
      ->add_option("--split", options->split,
                   "test, val, ...; not needed when DATA is the folder of one split")
      ->option_text("NAME");
  command
      ->add_option("--results", options->results,
                   "Roots as fftrain --evaluate --results writes them")
      ->required()
      ->option_text("FILE");
  command
      ->add_option("--threshold", options->threshold,
                   "AP: a root that is nearer than this to a true one is right, in the set's unit")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON instead of text");
  command
      ->add_option("-o,--output", options->output, "Write to this file instead of standard output")
      ->option_text("FILE");
  command->callback(
      [options, &action] { action = [options] { return evaluate_rootnet(*options); }; });
}

}  // namespace ffkit
