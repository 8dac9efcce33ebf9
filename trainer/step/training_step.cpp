#include "step/training_step.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>

#include <ffkit/image/random.h>

#include "device/device.h"
#include "launch/waiting.h"
#include "model/parameters.h"
#include "optim/gradients.h"

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
  for (int64_t i = 0; i < options_.accumulate; ++i) {
    const std::optional<DeviceBatch> batch = source.next();
    if (!batch) return std::nullopt;
    wait_seconds += source.wait_seconds();
    if (i == 0) begin(step);
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
  if (is_finite) {
    if (options_.clip_grad_norm > 0)
      scale_gradients(parameters, task_.gradient_norm(parameters), options_.clip_grad_norm);
    optimizer_.step(lr);
  } else {
    ++num_skipped_;
  }
  scaler_.update();
  return loss_sum_ / static_cast<double>(num_batches_);
}

}  // namespace ffkit
