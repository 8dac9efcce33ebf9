// A step of training, and its loss.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <memory>
#include <optional>

#include <ffkit/trainer/task.h>

#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "optim/gradients.h"
#include "optim/optimizer.h"

namespace ffkit {

// HostScalar: a number that a device computes, for the host to read later. item() would wait for
// all that the device was given in the meantime; this waits for the number alone.
class HostScalar {
 public:
  // Queues the copy behind what the device's current stream has to do. `scalar`: [] f32 or f64, not
  // changed any more.
  explicit HostScalar(const at::Tensor& scalar);
  // Blocks until it is there.
  double get() const;

 private:
  at::Tensor value_;                  // on the CPU; pinned, where it comes from a GPU
  std::shared_ptr<c10::Event> done_;  // null: it was there
};

// TrainingStep: forward, backward and update of one step, over one or several batches, alone or
// with other processes.
class TrainingStep {
 public:
  // Keeps references to all of them. Gives every process the weights of rank 0.
  TrainingStep(const TrainOptions& options, Task& task, Model& model, Optimizer& optimizer,
               Communicator& communicator);

  struct Result {
    // Mean over the batches of this process, with the weights of all processes; its value is there
    // when the step is.
    HostScalar loss;
    double wait_seconds = 0;  // spent waiting for data
  };
  // Step number `step`, counted from 0, with the next batches of `source`. Nothing when these end
  // before it, or when a process is asked to stop before all of them are there: then only `source`
  // has changed.
  std::optional<Result> run(BatchSource& source, int64_t step, double lr);
  // Whether the last run() was left so. The same on all processes.
  bool is_stopped() const { return is_stopped_; }

  // The parts of run(): a step is begin(), add() for each of its `accumulate` batches, end().
  // `step` keys the random numbers that the model draws (dropout), so that a resumed run draws the
  // same ones.
  void begin(int64_t step);
  // Forward and backward; after the last batch gradients are averages over all processes, not yet
  // divided by what the samples weigh (Task::loss_weight).
  void add(const DeviceBatch& batch, bool is_last);
  // Updates the weights. Returns the mean loss of this process' batches, [] f32 on the device:
  // reading it waits for the device.
  at::Tensor end(double lr);

  const GradScaler& scaler() const { return scaler_; }
  // Steps left out because of gradients that are not finite (float16).
  int64_t num_skipped() const { return num_skipped_; }

 private:
  const TrainOptions& options_;
  Task& task_;
  Model& model_;
  Optimizer& optimizer_;
  Communicator& communicator_;
  DataParallel parallel_;
  GradScaler scaler_;
  at::Tensor loss_sum_;
  at::Tensor weight_sum_;  // undefined: batches count alike
  int64_t num_batches_ = 0;
  bool is_stopped_ = false;
  int64_t num_skipped_ = 0;
};

// The task of a run on this process, and its model with what updates it.

// `options`: resolved, with the name of the task. The task asks its peers by `mesh`, which must
// outlive it. Throws Error(invalid_argument) for an unknown task, and what the task's constructor
// throws.
std::unique_ptr<Task> make_task(const TrainOptions& options, const RunMesh& mesh);

// Sets the number of libtorch's threads and its seed, both for the whole process, then draws the
// weights of the task's model and puts it onto the device of `communicator`.
Model& make_model(Task& task, const TrainOptions& options, const Communicator& communicator);

// TrainedModel: a task's model, on its device, with what updates it.
struct TrainedModel {
  // `options`: resolved. Keeps references to all of them.
  TrainedModel(Task& task, const TrainOptions& options, Communicator& communicator);

  Model& model;
  std::unique_ptr<Optimizer> optimizer;
  TrainingStep step;
};

}  // namespace ffkit
