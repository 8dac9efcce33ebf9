#include "optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "model/parameters.h"
#include "optim/divided_optimizer.h"
#include "optim/update_rules.h"

namespace ffkit {

std::vector<ParameterGroup> parameter_groups(std::vector<NamedTensor> parameters,
                                             double weight_decay, bool norm_decay,
                                             const ParameterSettings& settings) {
  std::vector<ParameterGroup> groups = {{.parameters = {}, .weight_decay = weight_decay}};
  if (!norm_decay) groups.push_back({.parameters = {}, .weight_decay = 0});
  const auto num_plain = std::ssize(groups);
  for (NamedTensor& p : parameters) {
    const bool is_decayed = norm_decay || p.tensor.dim() > 1;
    const ParameterSetting setting = settings ? settings(p) : ParameterSetting{};
    auto group = groups.begin() + (is_decayed ? 0 : 1);
    if (setting.lr_scale != 1 || setting.decay_scale != 1) {
      const double decay = is_decayed ? weight_decay * setting.decay_scale : 0;
      group = std::find_if(groups.begin() + num_plain, groups.end(), [&](const auto& g) {
        return g.weight_decay == decay && g.lr_scale == setting.lr_scale;
      });
      if (group == groups.end()) {
        group = groups.insert(
            groups.end(),
            ParameterGroup{.parameters = {}, .weight_decay = decay, .lr_scale = setting.lr_scale});
      }
    }
    group->parameters.push_back(std::move(p));
  }
  return groups;
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

namespace {

std::unique_ptr<Optimizer> optimizer_of(const TrainOptions& o, std::vector<ParameterGroup> groups) {
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

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const TrainOptions& o, const Model& model,
                                          const ParameterSettings& settings, Communicator* data) {
  std::vector<ParameterGroup> groups =
      parameter_groups(trained_parameters(model), o.weight_decay, o.norm_decay, settings);
  if (!o.shard_optimizer || data == nullptr || data->is_alone())
    return optimizer_of(o, std::move(groups));
  return std::make_unique<DividedOptimizer>(
      std::move(groups), *data,
      [&o](std::vector<ParameterGroup> own) { return optimizer_of(o, std::move(own)); });
}

}  // namespace ffkit
