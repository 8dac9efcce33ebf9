// ffinspect plot: the course of a training run as one picture.
#include <fmt/format.h>

#include <array>
#include <memory>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "data/metrics_file.h"
#include "draw/chart.h"
#include "draw/confusion_picture.h"
#include "text/output.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr const char* kPlotFooter =
    R"(Loss, metrics and throughput over the steps, from the work folder's metrics.jsonl; also while the run goes on.

With --json: one document with output, width, height, train: [step, epoch, loss, lr, images_per_second,
  data_wait_share], validation: [step, epoch, train_loss, the metrics of the task, images, seconds]. Where a task counts others than
  images, their name stands in these places. Of a confusion matrix (fftrain --evaluate RUN --confusion FILE.json): output, width, height, classes, matrix.)";

constexpr Color kBlue = {31, 119, 180};
constexpr Color kOrange = {230, 115, 10};
constexpr Color kGreen = {44, 140, 44};
constexpr std::array<Color, 4> kColors = {kOrange, kGreen, kBlue, {130, 90, 160}};

struct PlotOptions {
  std::string work_dir;
  std::string output;
  bool json = false;
};

ChartLine make_line(const std::string& name, Color color, const std::vector<Json>& lines,
                    const std::string& key) {
  ChartLine out{.name = name, .color = color, .has_marks = false, .points = {}};
  for (const Json& line : lines) {
    if (!line.contains(key) || !line[key].is_number()) continue;  // not a finite number
    out.points.push_back({line.at("step").get<double>(), line[key].get<double>()});
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
  if (options.output.empty() && options.json) {
    throw CLI::ValidationError("--json", "say with --output where the picture goes");
  }
  if (options.output.empty() && stdout_is_terminal()) {
    throw CLI::ValidationError("--output", "the picture is no text; give --output FILE.png");
  }
  if (std::filesystem::is_regular_file(options.work_dir)) return plot_confusion(options);
  require_no_input(options.output, {std::filesystem::path(options.work_dir) / "metrics.jsonl"});
  const RunMetrics metrics = read_metrics(options.work_dir);
  std::vector<ChartPanel> panels = {
      {"loss",
       {make_line("training", kBlue, metrics.train, "loss"),
        with_marks(make_line("validation", kOrange, metrics.validation, "loss"))}}};
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
  CLI::App* command =
      app.add_subcommand("plot", "Plot as PNG: loss, metrics and throughput of a training run");
  command
      ->add_option(
          "WORKDIR", options->work_dir,
          "Work folder of a run of fftrain, or the confusion matrix that it wrote as .json")
      ->required()
      ->option_text(" ");
  command
      ->add_option("-o,--output", options->output,
                   "PNG file to write instead of standard output; needed on a terminal")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print JSON instead of text");
  command->footer(kPlotFooter);
  command->callback([options, &action] { action = [options] { return plot(*options); }; });
}

}  // namespace ffkit
