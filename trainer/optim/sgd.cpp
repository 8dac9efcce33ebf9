#include "optim/sgd.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>

#include "optim/fused_tensors.h"

namespace ffkit {

Sgd::Sgd(std::vector<ParameterGroup> groups, SgdOptions options)
    : Optimizer(std::move(groups)), options_(options) {
  velocities_.resize(this->groups().size());
  if (options_.momentum != 0) velocities_ = zeros_like_parameters();
}

void Sgd::step(double lr) {
  at::NoGradGuard no_grad;
  for (size_t g = 0; g < groups().size(); ++g) {
    const FusedTensors<1> t = fused_tensors<1>(groups()[g], {&velocities_[g]});
    if (t.weights.empty()) continue;
    at::_fused_sgd_(t.weights, t.gradients, t.states[0], groups()[g].weight_decay,
                    options_.momentum, lr * groups()[g].lr_scale, /*dampening=*/0.0,
                    options_.nesterov,
                    /*maximize=*/false, /*is_first_step=*/false);
  }
}

std::vector<NamedTensor> Sgd::state() const {
  std::vector<NamedTensor> out;
  append_state("momentum", velocities_, out);
  return out;
}

}  // namespace ffkit
