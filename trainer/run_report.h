// What a run says: RunReport of a training, and progress for programs: objects of JSON, one a line.
// Each has a "kind":
//
//   {"kind":"start","epochs":15,"steps_per_epoch":156,"steps":2340,"steps_done":0,
//    "samples_per_step":256,"units":"images"}
//   train and validation: as metrics.jsonl has them (metrics_log.h)
//   {"kind":"epoch","step":156,"epoch":1,"epochs":15,"train_loss":1.72,"lr":0.1,
//    "images_per_second":812.4,"data_wait_share":0.002,"fps":815.1,"skipped_steps":0,
//    "seconds":9.1}
//   {"kind":"summary","state":"done","best_metric":"top1","best":0.619,"best_epoch":15,...,
//    "seconds":140.2,"checkpoint":"run/epoch-0015.safetensors"}
//
// "state" is done, stopped or finished (there was nothing left to do). A validation by itself has
// neither step nor epoch.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/trainer.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/work_dir.h"
#include "report/metrics_log.h"
#include "report/progress.h"

namespace ffkit {

// How long a run is, and what its steps take.
struct RunLength {
  int64_t num_epochs = 0;  // the last one may be cut
  int64_t steps_per_epoch = 0;
  int64_t num_steps = 0;
  int64_t samples_per_step = 0;  // of all processes, as units_per_step
  double units_per_step = 0;
};

struct EpochResult {
  double train_loss = 0;          // mean over the steps
  double lr = 0;                  // of the last step
  double seconds = 0;             // validation included
  std::optional<EvalResult> val;  // nothing without a validation
};

// Objects of JSON as lines of `to`, for whoever reads along. `units`: the task's.
void print_validation(std::FILE* to, const EvalResult& result, const std::string& units);
void print_summary(std::FILE* to, const TaskEntry& task, const TrainSummary& summary,
                   const char* state);

// RunReport: what a run of training says: lines, the line on a terminal, objects of JSON and
// metrics.jsonl. Each process of a run has one; rank 0's alone has an output. Not thread-safe.
class RunReport {
 public:
  // `task` must outlive it.
  RunReport(const ProgressOutput& output, const TaskEntry& task, const RunLength& length);

  void print_lines(const std::vector<std::string>& lines) const;
  Say say() const { return say_on(output_.lines); }
  void start(const CheckpointInfo& state) const;
  // From now on metrics.jsonl is written, in `work_dir`. Throws as MetricsLog.
  void open_log(const std::filesystem::path& work_dir, const CheckpointInfo& state);

  // A step that was done, or that a GPU has been given: how long it took, of which it waited for
  // data.
  void add_step(double seconds, double wait_seconds);
  // The loss of a step, in the order of the steps. The terminal shows it.
  void add_loss(const CheckpointInfo& state, double loss);
  void clear_terminal() { live_.clear(); }
  // The steps since the last time, whose losses are all there: at --log-every; at the end of an
  // epoch, whose line says the rest.
  void end_window(const CheckpointInfo& state, double lr);
  void end_epoch_window(const CheckpointInfo& state, double lr);
  // An epoch that `state` has done. `num_skipped`: steps left out because of an overflow.
  void end_epoch(const CheckpointInfo& state, const EpochResult& epoch, int64_t num_skipped);

  const ThroughputMeter& throughput() const noexcept { return throughput_; }
  // Samples a second without the first five steps of each epoch; 0 where no epoch has more.
  double fps() const { return run_frames_.units_per_second(); }

 private:
  ProgressState progress(const CheckpointInfo& state, double loss, double units_per_second,
                         double wait_share) const;
  TrainMetrics take_window(const CheckpointInfo& state, double lr);

  const ProgressOutput output_;
  const TaskEntry& task_;
  const RunLength length_;
  LiveProgress live_;
  ThroughputMeter throughput_;
  ThroughputMeter epoch_frames_, run_frames_;  // of samples, likewise
  MetricsWindow window_;
  std::optional<MetricsLog> log_;  // with a work folder
};

}  // namespace ffkit
