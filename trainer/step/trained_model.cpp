#include "step/trained_model.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <ffkit/format/machine.h>

namespace ffkit {

Model& make_model(Task& task, const TrainOptions& options, const Communicator& communicator) {
  at::set_num_threads(options.compute_threads > 0 ? options.compute_threads
                                                  : core_share(communicator.local_world_size()));
  at::manual_seed(options.seed);
  Model& model = task.make_model();
  if (!communicator.device().is_cpu()) model.to(communicator.device());
  return model;
}

TrainedModel::TrainedModel(Task& task, const TrainOptions& options, Communicator& communicator)
    : model(make_model(task, options, communicator)),
      optimizer(make_optimizer(
          options, model, [&task](const NamedTensor& p) { return task.parameter_setting(p); },
          &communicator)),
      step(options, task, model, *optimizer, communicator) {
  if (options.sync_bn) model.synchronise_batch_norm(communicator);
}

}  // namespace ffkit
