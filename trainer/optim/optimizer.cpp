#include "optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "model/parameters.h"

namespace ffkit {
namespace {

constexpr int64_t kExchangedBytes = int64_t{64} << 20;  // at once

}  // namespace

RowShare row_share(int64_t rows, int rank, int size) {
  const int64_t begin = rows * rank / size;
  return {.begin = begin, .count = rows * (rank + 1) / size - begin};
}

DividedOptimizer::DividedOptimizer(
    std::vector<ParameterGroup> groups, Communicator& communicator,
    const std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)>& make)
    : Optimizer(std::move(groups)), communicator_(communicator) {
  std::vector<ParameterGroup> own = this->groups();
  for (ParameterGroup& group : own) {
    for (NamedTensor& p : group.parameters) {
      const at::Tensor rows = rows_of(p.tensor.detach(), communicator_.rank());
      pairs_.push_back({.parameter = p.tensor, .own = rows});
      p.tensor = rows;
    }
  }
  rows_ = make(std::move(own));
}

at::Tensor DividedOptimizer::rows_of(const at::Tensor& tensor, int rank) const {
  if (tensor.dim() == 0) return tensor;
  const RowShare share = row_share(tensor.size(0), rank, communicator_.world_size());
  return tensor.narrow(0, share.begin, share.count);
}

void DividedOptimizer::step(double lr) {
  const at::NoGradGuard no_grad;
  for (const Pair& pair : pairs_) {
    const at::Tensor& gradient = pair.parameter.grad();
    pair.own.mutable_grad() = gradient.defined() && pair.own.numel() > 0
                                  ? rows_of(gradient, communicator_.rank())
                                  : at::Tensor();
  }
  rows_->step(lr);
  std::vector<at::Tensor> together;
  int64_t bytes = 0;
  for (const Pair& pair : pairs_) {
    pair.own.mutable_grad().reset();
    if (pair.parameter.dim() == 0) continue;  // all have updated it
    together.push_back(pair.parameter.detach());
    bytes += pair.parameter.nbytes();
    if (bytes < kExchangedBytes) continue;
    exchange(together);
    together.clear();
    bytes = 0;
  }
  exchange(together);
}

void DividedOptimizer::exchange(const std::vector<at::Tensor>& parameters) {
  if (parameters.empty()) return;
  // All give as many numbers as the one that has most.
  int64_t most = 0;
  for (int rank = 0; rank < communicator_.world_size(); ++rank) {
    int64_t count = 0;
    for (const at::Tensor& p : parameters) count += rows_of(p, rank).numel();
    most = std::max(most, count);
  }
  const at::Tensor own = at::empty({most}, parameters.front().options());
  int64_t end = 0;
  for (const at::Tensor& p : parameters) {
    const at::Tensor rows = rows_of(p, communicator_.rank());
    own.narrow(0, end, rows.numel()).copy_(rows.reshape({-1}));
    end += rows.numel();
  }
  const std::vector<at::Tensor> all = communicator_.all_gather(own);
  for (int rank = 0; rank < communicator_.world_size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    int64_t begin = 0;
    for (const at::Tensor& p : parameters) {
      const at::Tensor rows = rows_of(p, rank);
      rows.copy_(all[rank].narrow(0, begin, rows.numel()).view(rows.sizes()));
      begin += rows.numel();
    }
  }
}

namespace {

// Tensors as libtorch's fused optimiser kernels take them: one list a role, in the order of the
// parameters that have a gradient.
template <size_t NumStates>
struct FusedTensors {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> gradients;
  std::array<std::vector<at::Tensor>, NumStates> states;
};

// Whether element i of one lies where element i of the other does: the same strides, but for
// dimensions of size 1.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

// `t` as the fused kernels want it: contiguous. For channels_last that is the same memory seen as
// NHWC; given as it is, the kernel would copy it, update the copy and copy it back.
at::Tensor dense_view(const at::Tensor& t) {
  if (t.dim() == 4 && !t.is_contiguous() && t.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    return t.permute({0, 2, 3, 1});
  }
  return t;
}

// The gradient of `w` with its elements in the order of w's memory; a copy only where they are not.
at::Tensor gradient_in_layout_of(const at::Tensor& w) {
  const at::Tensor& g = w.grad();
  return same_layout(w, g) ? g : at::empty_like(w).copy_(g);
}

// The kernels walk the memory of weight, gradient and states side by side. `states` are lists over
// all parameters of the group; an empty one stays empty.
template <size_t NumStates>
FusedTensors<NumStates> fused_tensors(
    const ParameterGroup& group,
    const std::array<const std::vector<at::Tensor>*, NumStates>& states) {
  FusedTensors<NumStates> out;
  for (size_t i = 0; i < group.parameters.size(); ++i) {
    const at::Tensor& w = group.parameters[i].tensor;
    if (!w.grad().defined()) continue;
    out.weights.push_back(dense_view(w));
    out.gradients.push_back(dense_view(gradient_in_layout_of(w)));
    for (size_t s = 0; s < NumStates; ++s) {
      if (!states[s]->empty()) out.states[s].push_back(dense_view((*states[s])[i]));
    }
  }
  return out;
}

}  // namespace

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
  std::vector<NamedTensor> out = named_state("exp_avg", exp_avgs_);
  std::ranges::move(named_state("exp_avg_sq", exp_avg_sqs_), std::back_inserter(out));
  out.push_back({"step", step_});
  return out;
}

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

std::vector<NamedTensor> Optimizer::named_state(const std::string& kind,
                                                const StateTensors& tensors) const {
  std::vector<NamedTensor> out;
  for (size_t g = 0; g < tensors.size(); ++g) {
    for (size_t i = 0; i < tensors[g].size(); ++i) {
      out.push_back({kind + "." + groups_[g].parameters[i].name, tensors[g][i]});
    }
  }
  return out;
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
