// ffeval nuscenes: NDS and mAP of detections in the official format.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>
#include <ffkit/nuscenes/detection.h>

#include "commands.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
using namespace nuscenes;

constexpr const char* kFooter =
    R"(The figures are those of the official devkit's DetectionEval with its configuration detection_cvpr_2019. The results hold every sample of the
split, at most 500 boxes each; see https://www.nuscenes.org/object-detection for the format.

--json FILE writes what the devkit calls metrics_summary.json: label_aps, mean_dist_aps, mean_ap, label_tp_errors, tp_errors, tp_scores,
  nd_score, cfg, meta; and num_boxes, [annotations, detections] of each class that counted. A figure that a class does not have is null.

Example:
  ffeval nuscenes --data /fast/nuscenes --split val --results detections.json --json metrics.json)";

struct Options {
  std::string data;
  std::string split;
  std::string results;
  std::string json;
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

void print(const DetectionMetrics& metrics) {
  fmt::print("mAP: {:.4f}\n", metrics.mean_ap);
  for (size_t e = 0; e < kTpErrors.size(); ++e) {
    fmt::print("{}: {:.4f}\n", kMeanNames[e], metrics.tp_errors[e]);
  }
  fmt::print("NDS: {:.4f}\n\n", metrics.nd_score);
  fmt::print("{:<22}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}{:>9}{:>9}\n", "class", "AP", "ATE", "ASE", "AOE",
             "AVE", "AAE", "boxes", "detected");
  for (size_t c = 0; c < kClasses.size(); ++c) {
    fmt::print("{:<22}{:>7.3f}", kClasses[c], metrics.mean_dist_aps[c]);
    for (const double error : metrics.label_tp_errors[c]) {
      fmt::print("{:>7}", std::isnan(error) ? "-" : fmt::format("{:.3f}", error));
    }
    fmt::print("{:>9}{:>9}\n", metrics.num_truth[c], metrics.num_detections[c]);
  }
}

void write_json(const std::string& path, const Json& json) {
  std::ofstream file(path);
  file << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  if (file) return;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  throw Error(ErrorCode::io, "cannot be written; look at the folder and the room on its disk",
              {.path = path});
}

int evaluate_nuscenes(const Options& options) {
  const DetectionConfig config;
  const Dataset split = Dataset::open(options.data, options.split);
  const GroundTruth truth = read_ground_truth(split);
  const Submission submission = read_submission(options.results, config.max_boxes_per_sample);
  DetectionMetrics metrics;
  try {
    metrics = evaluate(truth, submission, config);
  } catch (const Error& error) {
    throw Error(error.code(), error.what(), {.path = options.results});
  }
  if (!options.json.empty()) write_json(options.json, to_json(metrics, config, submission.meta));
  print(metrics);
  if (std::fflush(stdout) != 0) throw Error(ErrorCode::io, "standard output cannot be written");
  return 0;
}

}  // namespace

void add_nuscenes_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("nuscenes", "NDS and mAP of nuScenes detections, as the devkit has them");
  command->footer(kFooter);
  command->add_option("--data", options->data, "Folder that ffconvert nuscenes wrote")
      ->required()
      ->option_text("DST");
  command
      ->add_option("--split", options->split,
                   "val, mini_val, ...; not needed when DST is the folder of one split")
      ->option_text("NAME");
  command->add_option("--results", options->results, "Detections in the official JSON format")
      ->required()
      ->option_text("FILE");
  command->add_option("--json", options->json, "Write all figures to this file")
      ->option_text("FILE");
  command->callback(
      [options, &action] { action = [options] { return evaluate_nuscenes(*options); }; });
}

}  // namespace ffkit
