// TrainingRun: one run of training on one data set, from its first or from a later epoch to its last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include <ffkit/trainer/trainer.h>

#include "checkpoint.h"
#include "data_source.h"
#include "meters.h"
#include "model.h"
#include "process_context.h"
#include "progress.h"
#include "sgd.h"
#include "work_dir.h"

namespace ffkit {

class TrainingRun {
 public:
  // Opens the data, seeds libtorch and draws the initial weights. Throws as train().
  TrainingRun(const TrainOptions& options, const ProgressOutput& output,
              const ProcessContext& process);

  // Takes over the state of a checkpoint file; call it before run(). Throws as resume_training().
  void restore(const std::filesystem::path& checkpoint);

  // Starts from the weights in options.pretrained; says so on output.lines when their head is of other classes. Throws as
  // load_weights().
  void load_pretrained();

  // Trains the epochs that are left, with a checkpoint and a line of the log after each; neither is
  // written without a `work_dir`.
  TrainSummary run(const std::optional<WorkDir>& work_dir);

 private:
  struct EpochResult {
    double train_loss = 0;  // mean over the steps
    double lr = 0;          // of the last step
    double seconds = 0;     // validation included
    EvalResult val;
  };

  TrainingRun(const TrainOptions& options, const ProgressOutput& output,
              const ProcessContext& process, const Dataset& train);

  EpochResult run_epoch();
  // Returns the loss.
  double train_step(const TensorBatch& batch, double lr);
  void show_progress(int64_t step, double loss);
  void report(const EpochResult& epoch, const std::optional<WorkDir>& work_dir);

  TrainOptions options_;
  ProgressOutput output_;
  LiveProgress live_;
  CheckpointInfo state_;  // of the run so far
  std::unique_ptr<Model> model_;
  Sgd optimizer_;
  DataSource train_;
  DataSource val_;
  ThroughputMeter throughput_;
};

}  // namespace ffkit
