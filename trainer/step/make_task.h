// make_task: the task of a run on this process, as its entry in the registry makes it.
#pragma once

#include <memory>

#include <ffkit/trainer/task.h>

#include "step/run_mesh.h"

namespace ffkit {

// `options`: resolved, with the name of the task. The task asks its peers by `mesh`, which must
// outlive it. Throws Error(invalid_argument) for an unknown task, and what the task's constructor
// throws.
std::unique_ptr<Task> make_task(const TrainOptions& options, const RunMesh& mesh);

}  // namespace ffkit
