#include "step/trained_model.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <utility>

#include <ffkit/base/machine.h>
#include <ffkit/trainer/task_registry.h>

#include "distributed/communicator.h"
#include "model/parameters.h"

namespace ffkit {

std::unique_ptr<Task> make_task(const TrainOptions& options, const RunMesh& mesh) {
  TaskSetting setting{.options = options,
                      .place = mesh.data().place(),
                      .device = mesh.world().device(),
                      .peers = std::make_shared<CommunicatorPeers>(mesh.data())};
  for (const MeshDimension& dimension : mesh.dimensions()) {
    setting.peers_along.emplace(dimension.name,
                                std::make_shared<CommunicatorPeers>(mesh.along(dimension.name)));
  }
  return TaskRegistry::instance().find(options.task_name()).make(std::move(setting));
}

Model& make_model(Task& task, const TrainOptions& options, const Communicator& communicator) {
  at::set_num_threads(options.compute_threads > 0 ? options.compute_threads
                                                  : core_share(communicator.local_world_size()));
  at::manual_seed(options.seed);
  Model& model = task.make_model();
  if (!communicator.device().is_cpu()) model.to(communicator.device());
  return model;
}

namespace {

// What training changes is known before an optimiser and buckets of gradients are made for it.
Model& freeze(Model& model, const Task& task, const TrainOptions& options) {
  if (options.freeze.empty()) return model;
  freeze_parameters(options.freeze, model, task.weight_rules().head);
  model.set_training(true);  // of what is left
  return model;
}

ParameterSettings parameter_settings(const Task& task, const Model& model,
                                     const TrainOptions& options) {
  std::vector<std::string> names;
  if (task.parts() != nullptr) {
    names = task.parts()->names();
  } else {
    for (const NamedTensor& p : model.parameters()) names.push_back(p.name);
  }
  return [&task,
          scales = lr_scales(
              {.lr = options.lr, .lr_head = options.lr_head, .layer_decay = options.layer_decay},
              names, task.weight_rules().head)](const NamedTensor& p) {
    ParameterSetting setting = task.parameter_setting(p);
    const auto scale = scales.find(p.name);
    if (scale != scales.end()) setting.lr_scale *= scale->second;
    return setting;
  };
}

}  // namespace

TrainedModel::TrainedModel(Task& task, const TrainOptions& options, Communicator& communicator)
    : model(freeze(make_model(task, options, communicator), task, options)),
      optimizer(
          make_optimizer(options, model, parameter_settings(task, model, options), &communicator)),
      step(options, task, model, *optimizer, communicator) {
  if (options.sync_bn) model.synchronise_batch_norm(communicator);
}

}  // namespace ffkit
