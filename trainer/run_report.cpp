#include "run_report.h"

#include <fmt/format.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "report/json_number.h"

namespace ffkit {
namespace {

using ReportJson = nlohmann::ordered_json;

void print_line(std::FILE* to, const std::string& line) {
  fmt::print(to, "{}\n", line);
  std::fflush(to);
}

// Names of files may be no UTF-8.
void print_json(std::FILE* to, const ReportJson& json) {
  print_line(to, json.dump(-1, ' ', false, ReportJson::error_handler_t::replace));
}

}  // namespace

void print_validation(std::FILE* to, const EvalResult& result, const std::string& units) {
  ReportJson json = {{"kind", "validation"}};
  for (const auto& [name, value] : result.metrics) json[name] = json_number(value);
  json[units] = result.count;
  if (!result.no_metrics.empty()) json["no_metrics"] = result.no_metrics;
  print_json(to, json);
}

void print_summary(std::FILE* to, const TaskEntry& task, const TrainSummary& s, const char* state) {
  ReportJson json = {{"kind", "summary"}, {"state", state}, {"epochs_done", s.epochs_done}};
  if (s.best_epoch > 0) {
    json["best_metric"] = task.best;
    json["best"] = json_number(s.best);
    json["best_epoch"] = s.best_epoch;
  }
  for (const auto& [name, value] : s.last.metrics) json["last"][name] = json_number(value);
  json[task.units + "_per_second"] = s.units_per_second;
  json["data_wait_share"] = s.data_wait_share;
  if (s.fps > 0) json["fps"] = s.fps;
  json["seconds"] = s.seconds;
  json["checkpoint"] = s.checkpoint.string();
  print_json(to, json);
}

RunReport::RunReport(const ProgressOutput& output, const TaskEntry& task, const RunLength& length)
    : output_(output), task_(task), length_(length), live_(output.live) {}

void RunReport::print_lines(const std::vector<std::string>& lines) const {
  if (output_.lines == nullptr) return;
  for (const std::string& line : lines) fmt::print(output_.lines, "{}\n", line);
  std::fflush(output_.lines);
}

void RunReport::start(const CheckpointInfo& state) const {
  if (output_.json == nullptr) return;
  print_json(output_.json, {{"kind", "start"},
                            {"epochs", length_.num_epochs},
                            {"steps_per_epoch", length_.steps_per_epoch},
                            {"steps", length_.num_steps},
                            {"steps_done", state.steps_done},
                            {"samples_per_step", length_.samples_per_step},
                            {"units", task_.units}});
}

void RunReport::open_log(const std::filesystem::path& work_dir, const CheckpointInfo& state) {
  log_.emplace(work_dir, state.steps_done, task_.units, /*is_validated=*/state.epoch_steps == 0);
}

void RunReport::add_step(double seconds, double wait_seconds) {
  throughput_.add_step(length_.units_per_step, seconds, wait_seconds);
  window_.add_step(length_.units_per_step, seconds, wait_seconds);
  epoch_frames_.add_step(length_.samples_per_step, seconds, wait_seconds);
  run_frames_.add_step(length_.samples_per_step, seconds, wait_seconds);
}

ProgressState RunReport::progress(const CheckpointInfo& state, double loss, double units_per_second,
                                  double wait_share) const {
  const double rate = throughput_.units_per_second();
  const int64_t steps_left = length_.num_steps - state.steps_done;
  return {.epoch = state.epochs_done + 1,
          .num_epochs = length_.num_epochs,
          .step = state.epoch_steps,
          .num_steps = length_.steps_per_epoch,
          .loss = loss,
          .units_per_second = units_per_second,
          .wait_share = wait_share,
          .seconds_left = rate > 0 ? steps_left * length_.units_per_step / rate : 0,
          .units = task_.units};
}

void RunReport::add_loss(const CheckpointInfo& state, double loss) {
  window_.add_loss(loss);
  live_.update(progress(state, loss, throughput_.units_per_second(), throughput_.wait_share()));
}

TrainMetrics RunReport::take_window(const CheckpointInfo& state, double lr) {
  const TrainMetrics m = window_.take(state.steps_done, state.epochs_done + 1, lr);
  if (log_) log_->add(m);
  if (output_.json != nullptr) print_line(output_.json, metrics_line(m, task_.units));
  return m;
}

void RunReport::end_window(const CheckpointInfo& state, double lr) {
  const TrainMetrics m = take_window(state, lr);
  if (output_.json != nullptr || output_.lines == nullptr || !output_.has_steps) return;
  live_.clear();
  print_lines({log_line(progress(state, m.loss, m.units_per_second, m.data_wait_share))});
}

void RunReport::end_epoch_window(const CheckpointInfo& state, double lr) {
  if (window_.num_steps() > 0) take_window(state, lr);
}

void RunReport::end_epoch(const CheckpointInfo& state, const EpochResult& epoch,
                          int64_t num_skipped) {
  if (epoch.val) {
    const ValidationMetrics m = {.step = state.steps_done,
                                 .epoch = state.epochs_done,
                                 .train_loss = epoch.train_loss,
                                 .seconds = epoch.seconds,
                                 .result = *epoch.val};
    if (log_) log_->add(m);
    if (output_.json != nullptr) print_line(output_.json, metrics_line(m, task_.units));
  }
  const double fps = std::exchange(epoch_frames_, {}).units_per_second();
  run_frames_.warm_up_again();
  if (output_.json != nullptr) {
    ReportJson json = {{"kind", "epoch"},
                       {"step", state.steps_done},
                       {"epoch", state.epochs_done},
                       {"epochs", length_.num_epochs},
                       {"train_loss", json_number(epoch.train_loss)},
                       {"lr", epoch.lr},
                       {task_.units + "_per_second", throughput_.units_per_second()},
                       {"data_wait_share", throughput_.wait_share()}};
    if (fps > 0) json["fps"] = fps;
    json["skipped_steps"] = num_skipped;
    json["seconds"] = epoch.seconds;
    print_json(output_.json, json);
    return;
  }
  const std::string val = epoch.val ? "val " + metrics_text(task_.metrics, *epoch.val) + "  " : "";
  const std::string rate =
      throughput_text(throughput_.units_per_second(), task_.units, throughput_.wait_share());
  print_lines({fmt::format(
      "epoch {}/{}  train loss {:.4f}  {}lr {:.3g}  {}{}{}", state.epochs_done, length_.num_epochs,
      epoch.train_loss, val, epoch.lr, rate.empty() ? "" : rate + "  ",
      format_duration(epoch.seconds),
      num_skipped > 0 ? fmt::format("  {} steps left out (overflow)", num_skipped) : "")});
}

}  // namespace ffkit
