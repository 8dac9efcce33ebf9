#include "optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include "optim/adamw.h"
#include "optim/lars.h"
#include "optim/sgd.h"

namespace ffkit {

std::vector<ParameterGroup> parameter_groups(std::vector<NamedTensor> parameters,
                                             double weight_decay, bool norm_decay) {
  if (norm_decay) return {{.parameters = std::move(parameters), .weight_decay = weight_decay}};
  ParameterGroup decayed{.parameters = {}, .weight_decay = weight_decay};
  ParameterGroup others{.parameters = {}, .weight_decay = 0};
  for (NamedTensor& p : parameters) {
    (p.tensor.dim() > 1 ? decayed : others).parameters.push_back(std::move(p));
  }
  return {std::move(decayed), std::move(others)};
}

void Optimizer::zero_grad() {
  for (const ParameterGroup& group : groups_) {
    for (const NamedTensor& p : group.parameters) p.tensor.mutable_grad().reset();
  }
}

Optimizer::StateTensors Optimizer::zeros_like_parameters() const {
  at::NoGradGuard no_grad;
  StateTensors out;
  for (const ParameterGroup& group : groups_) {
    std::vector<at::Tensor>& tensors = out.emplace_back();
    for (const NamedTensor& p : group.parameters) tensors.push_back(at::zeros_like(p.tensor));
  }
  return out;
}

void Optimizer::append_state(const std::string& kind, const StateTensors& tensors,
                             std::vector<NamedTensor>& out) const {
  for (size_t g = 0; g < tensors.size(); ++g) {
    for (size_t i = 0; i < tensors[g].size(); ++i) {
      out.push_back({kind + "." + groups_[g].parameters[i].name, tensors[g][i]});
    }
  }
}

std::unique_ptr<Optimizer> make_optimizer(const TrainOptions& o, const Model& model) {
  std::vector<ParameterGroup> groups =
      parameter_groups(model.parameters(), o.weight_decay, o.norm_decay);
  switch (o.optimizer) {
    case OptimizerKind::adamw:
      return std::make_unique<AdamW>(
          std::move(groups),
          AdamWOptions{.beta1 = o.adam_beta1, .beta2 = o.adam_beta2, .eps = o.adam_eps});
    case OptimizerKind::lars:
      return std::make_unique<Lars>(std::move(groups),
                                    LarsOptions{.momentum = o.momentum, .trust = o.lars_trust});
    case OptimizerKind::sgd:
      break;
  }
  return std::make_unique<Sgd>(std::move(groups),
                               SgdOptions{.momentum = o.momentum, .nesterov = o.nesterov});
}

}  // namespace ffkit
