// TrainedModel: a task's model, on its device, with what updates it.
#pragma once

#include <memory>

#include <ffkit/trainer/task.h>

#include "distributed/communicator.h"
#include "optim/optimizer.h"
#include "step/training_step.h"

namespace ffkit {

// Sets the number of libtorch's threads and its seed, both for the whole process, then draws the
// weights of the task's model and puts it onto the device of `communicator`.
Model& make_model(Task& task, const TrainOptions& options, const Communicator& communicator);

struct TrainedModel {
  // `options`: resolved. Keeps references to all of them.
  TrainedModel(Task& task, const TrainOptions& options, Communicator& communicator);

  Model& model;
  std::unique_ptr<Optimizer> optimizer;
  TrainingStep step;
};

}  // namespace ffkit
