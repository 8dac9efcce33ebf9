#include "step/training_step.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>
#include <ffkit/base/option_names.h>
#include <ffkit/image/random.h>
#include <ffkit/trainer/task_registry.h>

#include "base/make_error.h"
#include "device/device.h"
#include "launch/waiting.h"
#include "model/parameters.h"

namespace ffkit {

HostScalar::HostScalar(const at::Tensor& scalar) : value_(scalar) {
  if (scalar.is_cpu()) return;
  const c10::Device device = scalar.device();
  value_ = at::empty(scalar.sizes(), at::TensorOptions(scalar.scalar_type()).pinned_memory(true));
  value_.copy_(scalar, /*non_blocking=*/true);
  done_ = std::make_shared<c10::Event>(device.type());
  done_->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

double HostScalar::get() const {
  if (done_) done_->synchronize();
  return value_.item<double>();
}

namespace {

// Of what a model draws: none of the loader's, 0 .. 127.
constexpr uint8_t kModelStream = 128;

}  // namespace

TrainingStep::TrainingStep(const TrainOptions& options, Task& task, Model& model,
                           Optimizer& optimizer, Communicator& communicator)
    : options_(options),
      task_(task),
      model_(model),
      optimizer_(optimizer),
      communicator_(communicator),
      parallel_(communicator, model),
      scaler_(options.amp == Amp::fp16, options.loss_scale, communicator.device()) {}

std::optional<TrainingStep::Result> TrainingStep::run(BatchSource& source, int64_t step,
                                                      double lr) {
  double wait_seconds = 0;
  std::vector<NamedTensor> buffers;
  std::vector<at::Tensor> before;  // what batches of a step that is left have changed
  for (int64_t i = 0; i < options_.accumulate; ++i) {
    const bool has_data = source.wait_for_batch();
    // Tells the others, which may wait for data, before it waits for them.
    const bool leaves = communicator_.is_stop_requested() || !has_data;
    is_stopped_ = communicator_.sum(std::vector<double>{leaves ? 1.0 : 0.0})[0] > 0;
    if (is_stopped_) {
      for (size_t b = 0; b < before.size(); ++b) buffers[b].tensor.copy_(before[b]);
      return std::nullopt;
    }
    const std::optional<DeviceBatch> batch = source.next();
    if (!batch) return std::nullopt;
    wait_seconds += source.wait_seconds();
    if (i == 0) begin(step);
    if (i == 0 && options_.accumulate > 1) {
      buffers = model_.buffers();
      for (const NamedTensor& buffer : buffers) before.push_back(buffer.tensor.clone());
    }
    add(*batch, i + 1 == options_.accumulate);
  }
  return Result{.loss = HostScalar(end(lr)), .wait_seconds = wait_seconds};
}

void TrainingStep::begin(int64_t step) {
  at::manual_seed(
      CounterRandom({.seed = options_.seed, .epoch = step, .record_index = communicator_.rank()},
                    kModelStream)
          .next());
  optimizer_.zero_grad();
  if (options_.broadcast_buffers) {
    communicator_.broadcast(model_.buffers());
  }
  loss_sum_.reset();
  weight_sum_.reset();
  num_batches_ = 0;
  parallel_.before_forward();
}

void TrainingStep::add(const DeviceBatch& batch, bool is_last) {
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  at::Tensor loss;
  if (scaler_.is_on()) task_.set_loss_scale(scaler_.factor());
  {
    const Autocast autocast(options_.amp, communicator_.device());
    loss = task_.loss(batch);
  }
  if (is_last) parallel_.before_backward();
  // Backward takes about twice as long as forward where both are computed on the CPU.
  std::optional<Waiting> waiting;
  if (!communicator_.is_alone())
    waiting.emplace("waiting for the gradients of the other processes",
                    Waiting::kPatience + 4 * (std::chrono::steady_clock::now() - start));
  communicator_.with_peers("averaging gradients", [&] {
    scaler_.scale(options_.accumulate > 1 ? loss / static_cast<double>(options_.accumulate) : loss)
        .backward();
  });
  loss_sum_ = loss_sum_.defined() ? loss_sum_ + loss.detach() : loss.detach();
  const at::Tensor weight = task_.loss_weight(batch);
  weight_sum_ = weight_sum_.defined() ? weight_sum_ + weight : weight;
  ++num_batches_;
}

at::Tensor TrainingStep::end(double lr) {
  // Whether gradients are finite is known once the device has them from all processes, and a GPU
  // waits for ever for one that is gone. Here, on the CPU, that is found out before.
  if (scaler_.is_on()) communicator_.sum(std::vector<double>{0});
  const std::vector<NamedTensor> parameters = trained_parameters(model_);
  communicator_.with_peers("finishing gradients", [&] { task_.finish_gradients(); });
  bool is_finite = false;
  {
    const Waiting waiting("waiting for the gradients of the other processes", Waiting::kPatience);
    is_finite = scaler_.unscale(parameters, [&](bool own) { return task_.are_finite(own); });
  }
  // Gradients are the same in all processes, so all of them leave the same steps out.
  at::Tensor loss = loss_sum_ / static_cast<double>(num_batches_);
  if (weight_sum_.defined()) {
    at::Tensor weight = weight_sum_.reshape({1});
    communicator_.sum(weight);
    weight = weight.squeeze(0).to(loss.options()) /
             static_cast<double>(num_batches_ * communicator_.world_size());
    const at::Tensor factor = at::where(weight > 0, weight.reciprocal(), 1);
    multiply_gradients(parameters, factor);
    loss = loss * factor;
  }
  if (is_finite) {
    if (options_.clip_grad_norm > 0)
      scale_gradients(parameters, task_.gradient_norm(parameters), options_.clip_grad_norm);
    optimizer_.step(lr);
  } else {
    ++num_skipped_;
  }
  scaler_.update();
  return loss;
}

at::Tensor part_of(const at::Tensor& whole, const TensorCut& cut) {
  if (cut.runs.empty()) return whole;
  std::vector<at::Tensor> pieces;
  for (const TensorCut::Run& run : cut.runs)
    pieces.push_back(whole.narrow(cut.dimension, run.begin, run.count));
  return pieces.size() == 1 ? pieces[0] : at::cat(pieces, cut.dimension);
}

void Evaluation::write_results(const std::filesystem::path& file) {
  throw error_at(file, ErrorCode::unsupported, "the task writes no results");
}

std::string Evaluation::write_confusion(const std::filesystem::path& file) {
  throw error_at(file, ErrorCode::unsupported, "the task has no classes");
}

std::unique_ptr<BatchSource> Task::prediction_batches() {
  throw error_of(
      ErrorCode::unsupported,
      "the task can predict only in a validation; give {} with {} to write these predictions",
      option_name("evaluate"), option_name("results"));
}

std::string Task::misfit(const TrainOptions& /*stored*/, const TaskFacts& stored_facts) const {
  const TaskFacts own = facts();
  for (const auto& [name, text] : own) {
    const auto stored = stored_facts.find(name);
    if (stored == stored_facts.end() || stored->second != text)
      return fmt::format("its {0} are not the {0} of {1}", name, options().data.string());
  }
  return {};
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
