// ffeval nuscenes: NDS and mAP of detections in the official format.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/detection.h>

#include "commands.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
using namespace nuscenes;

constexpr const char* kFooter =
    R"(The figures equal those of the official devkit's DetectionEval with its configuration detection_cvpr_2019. The results must hold every
sample of the split, with at most 500 boxes each; see https://www.nuscenes.org/object-detection for the format.

With --json: one document with the members of the devkit's metrics_summary.json (label_aps, mean_dist_aps, mean_ap, label_tp_errors,
  tp_errors, tp_scores, nd_score, cfg, meta), and num_boxes: for each class the annotations and the detections that counted. A figure
  that a class does not have is null.

Example:
  ffeval nuscenes /fast/nuscenes --split val --results detections.json --json --output metrics.json)";

struct Options {
  std::string data;
  std::string split;
  std::string results;
  bool json = false;
  std::string output;
};

// The devkit's names of its means.
constexpr std::array<const char*, kTpErrors.size()> kMeanNames = {"mATE", "mASE", "mAOE", "mAVE",
                                                                  "mAAE"};

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

// "0.5", "1.0": as Python writes them.
std::string threshold_name(double metres) {
  return fmt::format("{:.1f}", metres);
}

Json errors_json(const std::array<double, kTpErrors.size()>& errors) {
  Json json = Json::object();
  for (size_t e = 0; e < errors.size(); ++e) {
    json[std::string(kTpErrors[e])] = number_or_null(errors[e]);
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

Json to_json(const DetectionMetrics& metrics, const DetectionConfig& config,
             const std::string& meta) {
  Json label_aps = Json::object();
  Json mean_dist_aps = Json::object();
  Json label_tp_errors = Json::object();
  Json num_boxes = Json::object();
  for (size_t c = 0; c < kClasses.size(); ++c) {
    const std::string name(kClasses[c]);
    for (size_t t = 0; t < config.distance_thresholds.size(); ++t) {
      label_aps[name][threshold_name(config.distance_thresholds[t])] = metrics.label_aps[c][t];
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

std::string to_text(const DetectionMetrics& metrics) {
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

std::vector<std::filesystem::path> input_files(const Dataset& split, const Options& options) {
  std::vector<std::filesystem::path> files = {options.results, split.path() / "manifest.json"};
  for (int64_t i = 0; i < split.num_shards(); ++i) files.push_back(split.shard(i).path());
  return files;
}

int evaluate_nuscenes(const Options& options) {
  const DetectionConfig config;
  const Dataset split = Dataset::open(options.data, options.split);
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
                               ? to_json(metrics, config, submission.meta)
                                         .dump(2, ' ', false, Json::error_handler_t::replace) +
                                     '\n'
                               : to_text(metrics);
  write_output(options.output, text);
  return 0;
}

}  // namespace

void add_nuscenes_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("nuscenes", "NDS and mAP of nuScenes detections, equal to the devkit's");
  command->footer(kFooter);
  command
      ->add_option(
          "DATA,--data", options->data,
          "Data set folder that ffconvert nuscenes wrote, or the folder of one of its splits")
      ->required()
      ->option_text(" ");
  command
      ->add_option("--split", options->split,
                   "val, mini_val, ...; not needed when DATA is the folder of one split")
      ->option_text("NAME");
  command->add_option("--results", options->results, "Detections in the official JSON format")
      ->required()
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print JSON instead of text");
  command
      ->add_option("-o,--output", options->output, "Write to this file instead of standard output")
      ->option_text("FILE");
  command->callback(
      [options, &action] { action = [options] { return evaluate_nuscenes(*options); }; });
}

}  // namespace ffkit
