// What a TrainingRun says while it runs: lines, objects of JSON and metrics.jsonl.
#include <fmt/format.h>

#include "optim/lr_schedule.h"
#include "report/progress_json.h"
#include "training_run.h"

namespace ffkit {

void TrainingRun::report_start() const {
  if (output_.json != nullptr) {
    print_progress(output_.json,
                   progress_json(StartOfRun{.num_epochs = num_epochs(),
                                            .steps_per_epoch = steps_per_epoch_,
                                            .num_steps = total_steps(options_, steps_per_epoch_),
                                            .steps_done = state_.steps_done,
                                            .samples_per_step = resolved_.global_batch_size,
                                            .units = entry_.units}));
  }
}

ProgressState TrainingRun::progress(double loss, double units_per_second, double wait_share) const {
  const double rate = throughput_.units_per_second();
  const int64_t steps_left = total_steps(options_, steps_per_epoch_) - state_.steps_done;
  return {.epoch = state_.epochs_done + 1,
          .num_epochs = num_epochs(),
          .step = state_.epoch_steps,
          .num_steps = steps_per_epoch_,
          .loss = loss,
          .units_per_second = units_per_second,
          .wait_share = wait_share,
          .seconds_left = rate > 0 ? double(steps_left) * units_per_step_ / rate : 0,
          .units = entry_.units};
}

void TrainingRun::show_progress(double loss) {
  live_.update(progress(loss, throughput_.units_per_second(), throughput_.wait_share()));
}

void TrainingRun::report_window(double lr, bool is_end_of_epoch) {
  const TrainMetrics m = window_.take(state_.steps_done, state_.epochs_done + 1, lr);
  if (metrics_) metrics_->add(m);
  if (output_.json != nullptr) {
    print_progress(output_.json, metrics_line(m, entry_.units));
  } else if (output_.lines != nullptr && output_.has_steps && !is_end_of_epoch) {
    // The line of an epoch says the rest.
    live_.clear();
    fmt::print(output_.lines, "{}\n",
               log_line(progress(m.loss, m.units_per_second, m.data_wait_share)));
    std::fflush(output_.lines);
  }
}

void TrainingRun::report(const EpochResult& epoch) {
  if (epoch.val) {
    const ValidationMetrics m = {.step = state_.steps_done,
                                 .epoch = state_.epochs_done,
                                 .train_loss = epoch.train_loss,
                                 .seconds = epoch.seconds,
                                 .result = *epoch.val};
    if (metrics_) metrics_->add(m);
    if (output_.json != nullptr) print_progress(output_.json, metrics_line(m, entry_.units));
  }
  if (output_.json != nullptr) {
    print_progress(output_.json,
                   progress_json(EndOfEpoch{.step = state_.steps_done,
                                            .epoch = state_.epochs_done,
                                            .num_epochs = num_epochs(),
                                            .train_loss = epoch.train_loss,
                                            .lr = epoch.lr,
                                            .units_per_second = throughput_.units_per_second(),
                                            .data_wait_share = throughput_.wait_share(),
                                            .num_skipped = model_.step.num_skipped(),
                                            .seconds = epoch.seconds,
                                            .units = entry_.units}));
    return;
  }
  if (output_.lines == nullptr) return;
  const std::string val = epoch.val ? "val " + metrics_text(entry_.metrics, *epoch.val) + "  " : "";
  const std::string rate =
      throughput_text(throughput_.units_per_second(), entry_.units, throughput_.wait_share());
  fmt::print(output_.lines, "epoch {}/{}  train loss {:.4f}  {}lr {:.3g}  {}{}{}\n",
             state_.epochs_done, num_epochs(), epoch.train_loss, val, epoch.lr,
             rate.empty() ? "" : rate + "  ", format_duration(epoch.seconds),
             model_.step.num_skipped() > 0
                 ? fmt::format("  {} steps left out (overflow)", model_.step.num_skipped())
                 : "");
  std::fflush(output_.lines);
}

}  // namespace ffkit
