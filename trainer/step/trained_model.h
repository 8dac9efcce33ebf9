// The task of a run on this process, and its model with what updates it.
#pragma once

#include <memory>

#include <ffkit/trainer/task.h>

#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "optim/optimizer.h"
#include "step/training_step.h"

namespace ffkit {

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
