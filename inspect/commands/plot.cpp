// ffinspect plot: the course of a training run as one picture.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "commands.h"
#include "draw/chart.h"
#include "text/output.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr const char* kPlotFooter =
    R"(The plot shows loss, metrics and throughput over the steps, from metrics.jsonl in the work folder. It also works while the run
goes on. A red cross marks a value that is nan or inf.

With --json: one document with output, width, height, train: [step, epoch, loss, lr, images_per_second,
  data_wait_share], validation: [step, epoch, train_loss, the metrics of the task, images, seconds]. If a task does not count images
  but tokens, the names have tokens instead. For a confusion matrix (fftrain --evaluate RUN --confusion FILE.json): output, width, height, classes, matrix.)";

// metrics.jsonl of a work folder of fftrain.
struct RunMetrics {
  // The lines as they are, by step. Numbers that are not finite are null there.
  std::vector<Json> train;
  std::vector<Json> validation;
  // What the speed counts, "images", of the key "images_per_second" of training lines; empty while
  // there is none.
  std::string units;
  // Keys of the task's metrics in validation lines but for "loss", in their order.
  std::vector<std::string> metrics;
};

constexpr std::string_view kSpeed = "_per_second";

// JSON has no word for numbers that are not finite.
bool is_a_number(const Json& json) {
  return json.is_number() || json == "nan" || json == "inf" || json == "-inf";
}

bool has_numbers(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto it = json.find(key);
    if (it == json.end() || !is_a_number(*it)) return false;
  }
  return true;
}

// "images" of a training line with the key "images_per_second"; empty without such a key.
std::string units_of(const Json& line) {
  for (const auto& item : line.items()) {
    const std::string& key = item.key();
    if (key.ends_with(kSpeed)) return key.substr(0, key.size() - kSpeed.size());
  }
  return {};
}

// What stands in a validation line between train_loss and the number of units: the task's metrics.
std::vector<std::string> metrics_of(const Json& line, const std::string& units) {
  std::vector<std::string> keys;
  for (const auto& item : line.items()) {
    const std::string& key = item.key();
    const bool is_of_all = key == "kind" || key == "step" || key == "epoch" ||
                           key == "train_loss" || key == "seconds" || key == "loss";
    if (!is_of_all && key != units && is_a_number(item.value())) keys.push_back(key);
  }
  return keys;
}

// Whether `line` is one that is known, which is then put where it belongs.
bool add_line(const std::string& line, RunMetrics& metrics) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) {
    return false;
  }
  const std::string kind = json.contains("kind") && json["kind"].is_string()
                               ? json["kind"].get<std::string>()
                               : std::string();
  if (kind == "train" && has_numbers(json, {"epoch", "loss", "lr"}) && !units_of(json).empty()) {
    metrics.units = units_of(json);
    metrics.train.push_back(std::move(json));
  } else if (kind == "validation" && has_numbers(json, {"epoch", "train_loss", "seconds"})) {
    metrics.validation.push_back(std::move(json));
  } else {
    return false;
  }
  return true;
}

// Throws Error(not_found) when `work_dir` is no folder or has no metrics, Error(invalid_argument)
// when there is no line yet, and Error(corrupt) naming the first line that is not one of fftrain's.
// A last line that is being written is left out.
RunMetrics read_metrics(const std::filesystem::path& work_dir) {
  const std::filesystem::path path = work_dir / "metrics.jsonl";
  std::ifstream in(path);
  if (!in) {
    throw error_at(work_dir, ErrorCode::not_found,
                   "has no metrics.jsonl; give the --work-dir of a run of fftrain");
  }
  RunMetrics metrics;
  std::string line;
  // getline() sets eof on a line without an end: one that is being written.
  for (int64_t number = 1; std::getline(in, line) && !in.eof(); ++number) {
    if (add_line(line, metrics)) continue;
    throw error_at(path, ErrorCode::corrupt,
                   "line {} was not written by fftrain; it was changed or is damaged", number);
  }
  if (metrics.train.empty() && metrics.validation.empty()) {
    throw error_at(path, ErrorCode::invalid_argument,
                   "has no line yet; fftrain writes the first one after --log-every steps");
  }
  if (!metrics.validation.empty())
    metrics.metrics = metrics_of(metrics.validation.back(), metrics.units);
  return metrics;
}

constexpr Color kBlue = {31, 119, 180};
constexpr Color kOrange = {230, 115, 10};
constexpr Color kGreen = {44, 140, 44};
constexpr std::array<Color, 4> kColors = {kOrange, kGreen, kBlue, {130, 90, 160}};

struct PlotOptions {
  std::string work_dir;
  std::string output;
  bool log = false;
  bool json = false;
};

ChartLine make_line(const std::string& name, Color color, const std::vector<Json>& lines,
                    const std::string& key) {
  ChartLine out{.name = name, .color = color, .has_marks = false, .points = {}};
  for (const Json& line : lines) {
    if (!line.contains(key)) continue;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const double value = line[key].is_number() ? line[key].get<double>() : kNan;
    out.points.push_back({line.at("step").get<double>(), value});
  }
  return out;
}

ChartLine with_marks(ChartLine line) {
  line.has_marks = line.points.size() <= 100;
  return line;
}

std::string title_of(const PlotOptions& options, const RunMetrics& metrics) {
  std::string title = std::filesystem::path(options.work_dir).lexically_normal().string();
  if (title.size() > 1 && title.back() == '/') title.pop_back();
  if (metrics.validation.empty()) return title + ": no validation yet";
  const Json& last = metrics.validation.back();
  title += fmt::format(": epoch {}", last.at("epoch").dump());
  std::vector<std::string> keys = metrics.metrics;
  keys.insert(keys.begin(), "loss");
  for (const std::string& key : keys) {
    if (last.contains(key) && last[key].is_number())
      title += fmt::format(", {} {:.4g}", key, last[key].get<double>());
  }
  return title;
}

int plot_confusion(const PlotOptions& options) {
  if (options.log) throw CLI::ValidationError("--log", "is for training runs; leave it out");
  require_no_input(options.output, {options.work_dir});
  const ConfusionCounts counts = read_confusion(options.work_dir);
  const Canvas canvas = draw_confusion(counts);
  write_output(options.output, encode_png(canvas.view()));
  if (options.json) {
    print_json({{"output", options.output},
                {"width", canvas.width()},
                {"height", canvas.height()},
                {"classes", counts.classes},
                {"matrix", counts.matrix}});
  }
  return 0;
}

int plot(const PlotOptions& options) {
  require_picture_output(options.output, options.json);
  if (std::filesystem::is_regular_file(options.work_dir)) return plot_confusion(options);
  require_no_input(options.output, {std::filesystem::path(options.work_dir) / "metrics.jsonl"});
  const RunMetrics metrics = read_metrics(options.work_dir);
  std::vector<ChartPanel> panels = {
      {"loss",
       {make_line("training", kBlue, metrics.train, "loss"),
        with_marks(make_line("validation", kOrange, metrics.validation, "loss"))},
       /*from_zero=*/false,
       options.log}};
  if (!metrics.metrics.empty()) {
    ChartPanel& panel = panels.emplace_back(ChartPanel{"metrics", {}});
    for (size_t i = 0; i < metrics.metrics.size(); ++i) {
      panel.lines.push_back(with_marks(make_line(metrics.metrics[i], kColors[i % kColors.size()],
                                                 metrics.validation, metrics.metrics[i])));
    }
  }
  panels.push_back(
      {"throughput",
       {make_line(metrics.units + "/s", kBlue, metrics.train, metrics.units + "_per_second")},
       /*from_zero=*/true});
  const Canvas canvas =
      make_chart(title_of(options, metrics), panels, {.x_name = "training steps"});
  write_output(options.output, encode_png(canvas.view()));
  if (options.json) {
    Json document = {{"output", options.output},
                     {"width", canvas.width()},
                     {"height", canvas.height()},
                     {"train", metrics.train},
                     {"validation", metrics.validation}};
    for (const char* part : {"train", "validation"}) {
      for (Json& line : document[part]) line.erase("kind");
    }
    print_json(document);
  }
  return 0;
}

}  // namespace

void add_plot_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App* command = app.add_subcommand(
      "plot", "Draws loss, metrics and throughput of a training run as a PNG file");
  command
      ->add_option(
          "WORKDIR", options->work_dir,
          "Work folder of a run of fftrain, or a confusion matrix that fftrain wrote as .json")
      ->required()
      ->option_text(" ");
  add_picture_output(*command, options->output);
  command->add_flag(
      "--log", options->log,
      "Draws the loss on a logarithmic scale. This is only possible for a training run");
  command->add_flag("--json", options->json, "Prints JSON instead of text");
  command->footer(kPlotFooter);
  command->callback([options, &action] { action = [options] { return plot(*options); }; });
}

}  // namespace ffkit
