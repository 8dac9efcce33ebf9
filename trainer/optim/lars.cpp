#include "optim/lars.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

namespace ffkit {
namespace {

// [number of parameters], on their device.
at::Tensor norms(const std::vector<at::Tensor>& tensors) {
  return at::stack(at::_foreach_norm(tensors, 2));
}

at::Tensor trust_ratios(const at::Tensor& w, const at::Tensor& g, double trust,
                        double weight_decay) {
  const at::Tensor ratios = w.mul(trust).div(g.add(w, weight_decay));
  return at::where(w.gt(0).logical_and(g.gt(0)), ratios, at::ones_like(ratios));
}

}  // namespace

Lars::Lars(std::vector<ParameterGroup> groups, LarsOptions options)
    : Optimizer(std::move(groups)), options_(options) {
  velocities_ = zeros_like_parameters();
}

void Lars::step(double lr) {
  at::NoGradGuard no_grad;
  for (size_t g = 0; g < groups().size(); ++g) {
    const double group_lr = lr * groups()[g].lr_scale;
    // Scaled parameters, then the ones that are not.
    for (const bool scaled : {true, false}) {
      std::vector<at::Tensor> weights, gradients, velocities;
      for (size_t i = 0; i < groups()[g].parameters.size(); ++i) {
        const at::Tensor& w = groups()[g].parameters[i].tensor;
        if (!w.grad().defined() || (w.dim() > 1) != scaled) continue;
        weights.push_back(w);
        gradients.push_back(w.grad());
        velocities.push_back(velocities_[g][i]);
      }
      if (weights.empty()) continue;
      at::_foreach_mul_(velocities, options_.momentum);
      if (!scaled) {
        at::_foreach_add_(velocities, gradients, group_lr);
      } else {
        const double decay = groups()[g].weight_decay;
        std::vector<at::Tensor> updates = at::_foreach_add(gradients, weights, decay);
        const at::Tensor ratios =
            trust_ratios(norms(weights), norms(gradients), options_.trust, decay);
        at::_foreach_mul_(updates, ratios.unbind());
        at::_foreach_add_(velocities, updates, group_lr);
      }
      at::_foreach_sub_(weights, velocities);
    }
  }
}

std::vector<NamedTensor> Lars::state() const {
  std::vector<NamedTensor> out;
  append_state("momentum", velocities_, out);
  return out;
}

}  // namespace ffkit
