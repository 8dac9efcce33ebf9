#include "optim/adamw.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>

#include "optim/fused_tensors.h"

namespace ffkit {
namespace {

at::Device device_of(const std::vector<ParameterGroup>& groups) {
  for (const ParameterGroup& group : groups) {
    if (!group.parameters.empty()) return group.parameters.front().tensor.device();
  }
  return at::kCPU;
}

}  // namespace

AdamW::AdamW(std::vector<ParameterGroup> groups, AdamWOptions options)
    : Optimizer(std::move(groups)), options_(options) {
  exp_avgs_ = zeros_like_parameters();
  exp_avg_sqs_ = zeros_like_parameters();
  // On the parameters' device: the kernel reads it there, without waiting for the host.
  step_ = at::zeros({}, at::TensorOptions(at::kFloat).device(device_of(this->groups())));
}

void AdamW::step(double lr) {
  at::NoGradGuard no_grad;
  step_.add_(1);
  for (size_t g = 0; g < groups().size(); ++g) {
    const FusedTensors<2> t = fused_tensors<2>(groups()[g], {&exp_avgs_[g], &exp_avg_sqs_[g]});
    if (t.weights.empty()) continue;
    const std::vector<at::Tensor> steps(t.weights.size(), step_);
    at::_fused_adamw_(t.weights, t.gradients, t.states[0], t.states[1], /*max_exp_avg_sqs=*/{},
                      steps, lr * groups()[g].lr_scale, options_.beta1, options_.beta2,
                      groups()[g].weight_decay, options_.eps, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

std::vector<NamedTensor> AdamW::state() const {
  std::vector<NamedTensor> out;
  append_state("exp_avg", exp_avgs_, out);
  append_state("exp_avg_sq", exp_avg_sqs_, out);
  out.push_back({"step", step_});
  return out;
}

}  // namespace ffkit
