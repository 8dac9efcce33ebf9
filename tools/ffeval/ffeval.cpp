// ffeval: figures of a model's results against a data set: NDS and mAP of detections in nuScenes'
// official format, MRPE and AP of roots in RootNet's results file. Data on stdout, errors on
// stderr; exit status 0, 1 (failed) or 2 (wrong use).
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/base/version.h>
#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/detection.h>
#include <ffkit/pose/root_truth.h>

#include "base/make_error.h"
#include "tools/common/command_line.h"
#include "tools/common/output_file.h"
#include "tools/common/programs.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
using namespace nuscenes;

// What every subcommand is told.
struct Evaluation {
  std::string data;
  std::string split;
  std::string results;
  bool json = false;
  std::string output;
};

// Adds what is read: DATA, --split, --results.
void add_inputs(CLI::App& command, Evaluation& options, const char* data, const char* split,
                const char* results) {
  command.add_option("DATA,--data", options.data, data)->required()->option_text(" ");
  command.add_option("--split", options.split, split)->option_text("NAME");
  command.add_option("--results", options.results, results)->required()->option_text("FILE");
}

// Adds what is written: --json, --output.
void add_outputs(CLI::App& command, Evaluation& options) {
  command.add_flag("--json", options.json, "Prints JSON instead of text");
  command
      .add_option("-o,--output", options.output, "Writes to this file instead of standard output")
      ->option_text("FILE");
}

std::vector<std::filesystem::path> input_files(const Dataset& split, const Evaluation& options) {
  std::vector<std::filesystem::path> files = {options.results, split.path() / "manifest.json"};
  for (int64_t i = 0; i < split.num_shards(); ++i) files.push_back(split.shard(i).path());
  return files;
}

constexpr const char* kNuscenesFooter =
    R"(The metrics are equal to those of the official devkit's DetectionEval with its configuration detection_cvpr_2019. The results must have every
sample of the split, with at most 500 boxes each; see https://www.nuscenes.org/object-detection for the format.

With --json: one document with the members of the devkit's metrics_summary.json (label_aps, mean_dist_aps, mean_ap, label_tp_errors,
  tp_errors, tp_scores, nd_score, cfg, meta), and num_boxes: for each class, the annotations and the detections that were counted. A
  metric that a class does not have is null.

Example:
  ffeval nuscenes /fast/nuscenes --split val --results detections.json --json --output metrics.json)";

// The devkit's names of its means.
constexpr std::array<const char*, kTpErrors.size()> kMeanNames = {"mATE", "mASE", "mAOE", "mAVE",
                                                                  "mAAE"};

Json errors_json(const std::array<double, kTpErrors.size()>& errors) {
  Json json = Json::object();
  for (size_t e = 0; e < errors.size(); ++e) {
    json[std::string(kTpErrors[e])] = std::isfinite(errors[e]) ? Json(errors[e]) : Json();
  }
  return json;
}

Json config_json(const DetectionConfig& config) {
  Json ranges = Json::object();
  for (size_t c = 0; c < kClasses.size(); ++c) {
    ranges[std::string(kClasses[c])] = config.class_range[c];
  }
  return {{"class_range", ranges},
          {"dist_fcn", "center_distance"},
          {"dist_ths", config.distance_thresholds},
          {"dist_th_tp", config.distance_thresholds.at(config.tp_threshold)},
          {"min_recall", config.min_recall},
          {"min_precision", config.min_precision},
          {"max_boxes_per_sample", config.max_boxes_per_sample},
          {"mean_ap_weight", config.mean_ap_weight}};
}

Json json_of_detections(const DetectionMetrics& metrics, const DetectionConfig& config,
                        const std::string& meta) {
  Json label_aps = Json::object();
  Json mean_dist_aps = Json::object();
  Json label_tp_errors = Json::object();
  Json num_boxes = Json::object();
  for (size_t c = 0; c < kClasses.size(); ++c) {
    const std::string name(kClasses[c]);
    for (size_t t = 0; t < config.distance_thresholds.size(); ++t) {
      // "0.5", "1.0": as Python writes them.
      const std::string threshold = fmt::format("{:.1f}", config.distance_thresholds[t]);
      label_aps[name][threshold] = metrics.label_aps[c][t];
    }
    mean_dist_aps[name] = metrics.mean_dist_aps[c];
    label_tp_errors[name] = errors_json(metrics.label_tp_errors[c]);
    num_boxes[name] = {metrics.num_truth[c], metrics.num_detections[c]};
  }
  return {{"label_aps", label_aps},
          {"mean_dist_aps", mean_dist_aps},
          {"mean_ap", metrics.mean_ap},
          {"label_tp_errors", label_tp_errors},
          {"tp_errors", errors_json(metrics.tp_errors)},
          {"tp_scores", errors_json(metrics.tp_scores)},
          {"nd_score", metrics.nd_score},
          {"cfg", config_json(config)},
          {"meta", Json::parse(meta, nullptr, false)},
          {"num_boxes", num_boxes}};
}

std::string text_of_detections(const DetectionMetrics& metrics) {
  std::string text = fmt::format("mAP: {:.4f}\n", metrics.mean_ap);
  for (size_t e = 0; e < kTpErrors.size(); ++e) {
    text += fmt::format("{}: {:.4f}\n", kMeanNames[e], metrics.tp_errors[e]);
  }
  text += fmt::format("NDS: {:.4f}\n\n", metrics.nd_score);
  text += fmt::format("{:<22}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}{:>9}{:>9}\n", "class", "AP", "ATE",
                      "ASE", "AOE", "AVE", "AAE", "boxes", "detected");
  for (size_t c = 0; c < kClasses.size(); ++c) {
    text += fmt::format("{:<22}{:>7.3f}", kClasses[c], metrics.mean_dist_aps[c]);
    for (const double error : metrics.label_tp_errors[c]) {
      text += fmt::format("{:>7}", std::isnan(error) ? "-" : fmt::format("{:.3f}", error));
    }
    text += fmt::format("{:>9}{:>9}\n", metrics.num_truth[c], metrics.num_detections[c]);
  }
  return text;
}

int evaluate_nuscenes(const Evaluation& options) {
  const DetectionConfig config;
  const Dataset split = Dataset::open(options.data, split_there(options.data, options.split));
  require_no_input(options.output, input_files(split, options));
  const GroundTruth truth = read_ground_truth(split);
  const Submission submission = read_submission(options.results, config.max_boxes_per_sample);
  DetectionMetrics metrics;
  try {
    metrics = evaluate(truth, submission, config);
  } catch (const Error& error) {
    throw error.within({.path = options.results});
  }
  const std::string text = options.json
                               ? json_of_detections(metrics, config, submission.meta)
                                         .dump(2, ' ', false, Json::error_handler_t::replace) +
                                     '\n'
                               : text_of_detections(metrics);
  write_output(options.output, text);
  return 0;
}

constexpr const char* kRootNetFooter =
    R"(The results are a JSON array like RootNet's bbox_root_*_output.json, in any order. MRPE is the mean distance between found and true roots, in total and along
x, y and z. Its unit is mm, or m for 3DPW. For Human3.6M, MRPE is also computed for each action. For MRPE, the results must have an entry for each person of
the split. If a picture has several persons, each entry must have the ann_id or the box. AP is the average precision of roots at --threshold. AP uses the
scores in the file, and is computed if the data set marks valid annotations (MuPoTS).

With --json: one document with persons, mrpe {total, x, y, z}, actions {name: MRPE} and ap. A value that the annotations do not allow is null.

Example:
  ffeval rootnet /fast/mupots --split test --results bbox_root_mupots_output.json)";

Json json_of_roots(const pose::RootTruth& truth, const pose::RootEvaluation& figures) {
  Json json = {{"persons", truth.persons.size()},
               {"mrpe", nullptr},
               {"actions", Json::object()},
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

int evaluate_rootnet(const Evaluation& options, double threshold) {
  const Dataset split = Dataset::open(options.data, options.split);
  require_no_input(options.output, input_files(split, options));
  const pose::RootTruth truth = pose::read_root_truth(split);
  const pose::RootEvaluation figures = pose::evaluate_results(
      pose::read_root_results(options.results, truth), truth, options.results, threshold);
  if (figures.is_empty()) {
    throw error_at(split.path(), ErrorCode::invalid_argument,
                   "has no person whose depth is known; give a split with known depths");
  }
  const std::string text =
      options.json ? json_of_roots(truth, figures).dump(2) + '\n' : text_of_roots(figures);
  write_output(options.output, text);
  return 0;
}

// Does the work after the command line was parsed; returns the exit status.
using Action = std::function<int()>;

void add_nuscenes_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Evaluation>();
  CLI::App* command = app.add_subcommand(
      "nuscenes",
      "Computes NDS and mAP of nuScenes detections, with the same results as the devkit");
  command->footer(kNuscenesFooter);
  add_inputs(*command, *options,
             "Data set folder that 'ffconvert nuscenes' wrote, or the folder of one of its splits",
             "Name of the split, such as val or mini_val. It is not necessary if DATA is the "
             "folder of a split",
             "File with detections in the official JSON format of nuScenes");
  add_outputs(*command, *options);
  command->callback(
      [options, &action] { action = [options] { return evaluate_nuscenes(*options); }; });
}

void add_rootnet_command(CLI::App& app, Action& action) {
  struct RootEvaluationCommand : Evaluation {
    double threshold = 250;
  };
  const auto options = std::make_shared<RootEvaluationCommand>();
  CLI::App* command = app.add_subcommand(
      "rootnet", "Computes MRPE and AP of the roots of persons in the same way as RootNet's code");
  command->footer(kRootNetFooter);
  add_inputs(
      *command, *options,
      "Data set folder that 'ffconvert coco --persons' wrote, or the folder of one of its splits",
      "Name of the split, such as test or val. It is not necessary if DATA is the folder of "
      "a split",
      "File with roots that 'fftrain --evaluate --results' wrote");
  command
      ->add_option("--threshold", options->threshold,
                   "For AP, largest distance between a found root and the true root, in the unit "
                   "of the data set. A found root within this distance is right")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_outputs(*command, *options);
  command->callback([options, &action] {
    action = [options] { return evaluate_rootnet(*options, options->threshold); };
  });
}

int run(int argc, char** argv) {
  CLI::App app("Evaluates results against the annotations of an ffkit data set.", "ffeval");
  app.footer(
      "Example:\n"
      "  ffeval nuscenes /fast/nuscenes --split val --results detections.json");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ffeval " FFKIT_VERSION);
  Action action;
  add_nuscenes_command(app, action);
  add_rootnet_command(app, action);
  return run_tool(app, argc, argv, [&] {
    const int status = action();
    require_written_stdout();
    return status;
  });
}

}  // namespace

int run_ffeval(int argc, char** argv) {
  return run_main("ffeval", [&] { return run(argc, argv); });
}

}  // namespace ffkit
