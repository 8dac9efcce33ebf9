#include "step/trained_model.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/task_registry.h>

#include "distributed/communicator.h"
#include "model/parameters.h"
#include "optim/gradients.h"

namespace ffkit {

at::Tensor part_of(const at::Tensor& whole, const TensorCut& cut) {
  if (cut.runs.empty()) return whole;
  std::vector<at::Tensor> pieces;
  for (const TensorCut::Run& run : cut.runs)
    pieces.push_back(whole.narrow(cut.dimension, run.begin, run.count));
  return pieces.size() == 1 ? pieces[0] : at::cat(pieces, cut.dimension);
}

void Evaluation::write_results(const std::filesystem::path& file) {
  throw Error(ErrorCode::unsupported, "the task writes no results", {.path = file.string()});
}

std::string Evaluation::write_confusion(const std::filesystem::path& file) {
  throw Error(ErrorCode::unsupported, "the task has no classes", {.path = file.string()});
}

std::unique_ptr<BatchSource> Task::prediction_batches() {
  throw Error(ErrorCode::unsupported, "the task predicts nothing but what it validates");
}

void Task::set_facts(const TaskFacts& /*facts*/) {}

std::string Task::misfit(const TrainOptions& /*stored*/, const TaskFacts& stored_facts) const {
  const TaskFacts own = facts();
  for (const auto& [name, text] : own) {
    const auto stored = stored_facts.find(name);
    if (stored == stored_facts.end() || stored->second != text)
      return fmt::format("its {} are not those of the data set {}", name, options().data.string());
  }
  return {};
}

TaskFacts Task::facts_of_weights(const std::vector<NamedTensor>& /*weights*/,
                                 const std::filesystem::path& /*file*/) {
  return facts();
}

at::Tensor Task::gradient_norm(const std::vector<NamedTensor>& parameters) {
  return ffkit::gradient_norm(parameters);
}

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
