// TrainingRun: one run of training of a task, from its first or from a later step to its last.
// Every process that trains along has one; rank 0's writes and talks.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/trainer/task.h>
#include <ffkit/trainer/trainer.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/work_dir.h"
#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "model/parameters.h"
#include "report/step_profiler.h"
#include "run_checkpoints.h"
#include "run_report.h"
#include "step/training_step.h"
#include "step/whole_state.h"

namespace ffkit {

// Evaluates `model`, which is the task's, over the whole of `source`, of which every process along
// "data" has its share, in evaluation mode, and leaves it in training mode. The result is that of
// all processes; rank 0 also writes the results and the confusion matrix that `output` names, which
// may be null. Nothing when a process was asked to stop: all leave within a batch. Throws
// Error(invalid_argument) when there is no truth to compare with and no results are written.
std::optional<EvalResult> validate_model(Task& task, Model& model, BatchSource& source, Amp amp,
                                         const RunMesh& mesh,
                                         const ProgressOutput* output = nullptr);

class TrainingRun {
 public:
  // Opens the data, seeds libtorch, draws the initial weights, and prints the task's notes on the
  // data. `options` name the task. Throws as train().
  TrainingRun(const TrainOptions& options, const ProgressOutput& output, const RunMesh& mesh);

  // Takes over the state of a checkpoint; all processes call it, before run(). Throws as
  // resume_training().
  void restore(const std::filesystem::path& checkpoint);

  // Begins a new run: with the task's initial weights and those in options.pretrained, which rank 0
  // alone reads. Throws as load_weights().
  void begin();

  // Trains what is left, with a checkpoint before each validation, which the one after it replaces;
  // these, the metrics and the configuration are not written without a `work_dir`, which only rank
  // 0 has. Ends early when a process was asked to stop.
  TrainSummary run(const std::optional<WorkDir>& work_dir);

 private:
  // Says on the output when the head of the weights has other rows.
  void load_pretrained();
  // The task with its data open.
  std::unique_ptr<Task> open_task();
  std::unique_ptr<BatchSource> open_training();
  RunLength length() const;
  // Whether the epoch that is under way ends with a validation.
  bool ends_with_validation() const;
  void check_fits(const CheckpointInfo& stored, const std::filesystem::path& checkpoint) const;
  // Everything of this process that a checkpoint holds, by name.
  std::vector<NamedTensor> state_tensors() const;
  WholeState whole_state() const {
    return {mesh_, task_->parts(), options_.shard_optimizer ? &model_.model : nullptr};
  }

  // Nothing when it was stopped before its end.
  std::optional<EpochResult> run_epoch(const std::optional<WorkDir>& work_dir);
  // The batches of a step; false at the end of the epoch.
  bool run_step(double lr);
  void update_average();
  // Makes the source anew where that of before is not for `epoch`.
  void prepare_source(int64_t epoch);
  // Takes in the losses of steps but for the newest `num_left`: reading one waits for its step.
  // Throws when one is not finite.
  void take_losses(size_t num_left);
  // What is not finite of the weights, their average or the optimiser's state, of any process;
  // empty: all are. Collective.
  std::string not_finite();
  // Ends a run that has diverged; `what` says how that was seen.
  [[noreturn]] void end_diverged(const std::string& what);
  // Writes the present state. Throws if it is not finite.
  void write_checkpoint(const std::optional<WorkDir>& work_dir);
  // Nothing if a process was asked to stop.
  std::optional<EvalResult> validate_epoch();
  void require_judged(const EvalResult& last) const;

  TrainOptions options_;   // as they were given, and as a checkpoint holds them
  TrainOptions resolved_;  // for this number of processes
  const RunMesh& mesh_;
  Communicator& communicator_;  // of all processes
  const TaskEntry& entry_;
  int64_t source_epoch_ = 0;  // that train_ was made for
  std::unique_ptr<Task> task_;
  std::unique_ptr<BatchSource> train_;
  std::unique_ptr<BatchSource> val_;  // null with --dummy: no validation
  CheckpointInfo state_;              // of the run so far
  TrainedModel model_;
  std::unique_ptr<ModelAverage> average_;  // null without --ema-decay
  const RunLength length_;
  std::deque<HostScalar> losses_;  // of steps that were not looked at yet
  LoaderState before_step_;        // of train_
  double step_wait_ = 0;           // seconds of the last step spent waiting for data
  // Rank 0's clock decides. All processes know it at the same step, as is_stopped_.
  bool is_checkpoint_due_ = false;
  bool is_stopped_ = false;
  RunReport report_;
  StepProfiler profiler_;
  RunCheckpoints checkpoints_;  // last: they are written before what they hold goes
};

}  // namespace ffkit
