#include "training_step.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>

#include <ffkit/loader/random.h>

#include "autocast.h"
#include "classification_loss.h"
#include "gradient_clip.h"

namespace ffkit {
namespace {

// Of what a model draws: none of the loader's, 0 .. 127.
constexpr uint8_t kModelStream = 128;

}  // namespace

TrainingStep::TrainingStep(const TrainOptions& options, Model& model, Optimizer& optimizer,
                           Communicator& communicator)
    : options_(options),
      model_(model),
      optimizer_(optimizer),
      communicator_(communicator),
      parallel_(communicator, model),
      scaler_(options.amp == Amp::fp16, options.loss_scale, communicator.device()) {}

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

void TrainingStep::add(const TensorBatch& batch, bool is_last) {
  at::Tensor loss;
  {
    const Autocast autocast(options_.amp, communicator_.device());
    const at::Tensor logits = model_.forward(batch.images);
    loss = classification_loss(logits.to(at::kFloat), batch.labels, batch.mix_lambda,
                               options_.label_smoothing);
  }
  if (is_last) parallel_.before_backward();
  communicator_.with_peers("averaging gradients", [&] {
    scaler_.scale(options_.accumulate > 1 ? loss / double(options_.accumulate) : loss).backward();
  });
  loss_sum_ = loss_sum_.defined() ? loss_sum_ + loss.detach() : loss.detach();
  ++num_batches_;
}

at::Tensor TrainingStep::end(double lr) {
  // Gradients are the same in all processes, so all of them leave the same steps out.
  const std::vector<NamedTensor> parameters = model_.parameters();
  if (scaler_.unscale(parameters)) {
    if (options_.clip_grad_norm > 0) clip_gradient_norm(parameters, options_.clip_grad_norm);
    optimizer_.step(lr);
  } else {
    ++num_skipped_;
  }
  scaler_.update();
  return loss_sum_ / double(num_batches_);
}

}  // namespace ffkit
