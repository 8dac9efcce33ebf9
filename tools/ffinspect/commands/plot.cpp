// ffinspect plot: the course of a training run as one picture.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

#include "commands.h"
#include "data/metrics_file.h"
#include "draw/chart.h"
#include "text/output.h"
#include "tools/output_file.h"

namespace ffkit {
namespace {

constexpr const char* kPlotFooter =
    R"(Loss, accuracy and throughput over the steps, from the work folder's metrics.jsonl; also while the run goes on.

With --json: one document with output, width, height, train: [step, epoch, loss, lr, images_per_second,
  data_wait_share], validation: [step, epoch, train_loss, loss, top1, top5, images, seconds].)";

constexpr Color kBlue = {31, 119, 180};
constexpr Color kOrange = {230, 115, 10};
constexpr Color kGreen = {44, 140, 44};

struct PlotOptions {
  std::string work_dir;
  std::string output;
  bool json = false;
};

ChartLine make_line(const std::string& name, Color color, const std::vector<Json>& lines,
                    const char* key, double factor = 1) {
  ChartLine out{.name = name, .color = color, .has_marks = false, .points = {}};
  for (const Json& line : lines) {
    if (!line.at(key).is_number()) continue;  // null: not a finite number
    out.points.push_back({line.at("step").get<double>(), factor * line.at(key).get<double>()});
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
  const auto top1 = [](const Json& line) {
    return line.at("top1").is_number() ? line.at("top1").get<double>() : -1;
  };
  const Json& best =
      *std::max_element(metrics.validation.begin(), metrics.validation.end(),
                        [&](const Json& a, const Json& b) { return top1(a) < top1(b); });
  return fmt::format("{}: best top-1 {:.2f} % (epoch {})", title, 100 * top1(best),
                     best.at("epoch").dump());
}

int plot(const PlotOptions& options) {
  if (options.output.empty() && options.json) {
    throw CLI::ValidationError("--json", "say with --output where the picture goes");
  }
  if (options.output.empty() && stdout_is_terminal()) {
    throw CLI::ValidationError("--output", "the picture is no text; give --output FILE.png");
  }
  require_no_input(options.output, {std::filesystem::path(options.work_dir) / "metrics.jsonl"});
  const RunMetrics metrics = read_metrics(options.work_dir);
  const std::vector<ChartPanel> panels = {
      {"loss",
       {make_line("training", kBlue, metrics.train, "loss"),
        with_marks(make_line("validation", kOrange, metrics.validation, "loss"))}},
      {"accuracy, %",
       {with_marks(make_line("top-1", kOrange, metrics.validation, "top1", 100)),
        with_marks(make_line("top-5", kGreen, metrics.validation, "top5", 100))}},
      {"throughput",
       {make_line("images/s", kBlue, metrics.train, "images_per_second")},
       /*from_zero=*/true}};
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
      app.add_subcommand("plot", "Plot as PNG: loss, accuracy and throughput of a training run");
  command->add_option("WORKDIR", options->work_dir, "Work folder of a run of fftrain")
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
