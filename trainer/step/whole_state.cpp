#include "step/whole_state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "checkpoint/checkpoint.h"

namespace ffkit {
namespace {

const at::Tensor* find_tensor(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto it = std::ranges::find(tensors, name, &NamedTensor::name);
  return it == tensors.end() ? nullptr : &it->tensor;
}

}  // namespace

std::string WholeState::parameter_of(const std::string& name) const {
  for (const std::string& parameter : parts_->names()) {
    if (name.size() > parameter.size() && name.ends_with(parameter)) return parameter;
  }
  return {};
}

std::vector<std::string> WholeState::prefixes(const std::vector<NamedTensor>& own) const {
  std::vector<std::string> out;
  for (const NamedTensor& t : own) {
    const std::string parameter = parameter_of(t.name);
    if (parameter.empty()) continue;
    const std::string prefix = t.name.substr(0, t.name.size() - parameter.size());
    if (std::ranges::find(out, prefix) == out.end()) out.push_back(prefix);
  }
  return out;
}

std::vector<NamedTensor> WholeState::others(const std::vector<NamedTensor>& own) const {
  std::vector<NamedTensor> out;
  for (const NamedTensor& t : own) {
    if (parameter_of(t.name).empty()) out.push_back(t);
  }
  return out;
}

std::vector<NamedTensor> WholeState::gather(const std::vector<NamedTensor>& own) const {
  if (parts_ == nullptr) return own;
  if (mesh_.data().rank() != 0) return {};
  const at::NoGradGuard no_grad;
  Communicator& peers = mesh_.same_data();
  std::vector<NamedTensor> out = others(own);
  for (const std::string& prefix : prefixes(own)) {
    for (const std::string& name : parts_->names()) {
      const std::vector<int> holders = parts_->holders(name);
      const at::Tensor* const mine = find_tensor(own, prefix + name);
      if (peers.rank() != 0) {
        if (std::ranges::find(holders, peers.rank()) != holders.end())
          peers.send(mine->detach().contiguous(), 0);
        continue;
      }
      std::vector<at::Tensor> received;
      for (const int holder : holders) {
        if (holder == 0) {
          received.push_back(mine->detach());
          continue;
        }
        at::Tensor part = at::empty(parts_->part_shape(name, holder), own.front().tensor.options());
        peers.receive(part, holder);
        received.push_back(part);
      }
      out.push_back({prefix + name, parts_->whole(name, received)});
    }
  }
  return mesh_.world().rank() == 0 ? out : std::vector<NamedTensor>();
}

std::vector<NamedTensor> WholeState::to_fill(const std::vector<NamedTensor>& own) const {
  if (parts_ == nullptr) return own;
  if (mesh_.world().rank() != 0) return {};
  std::vector<NamedTensor> out = others(own);
  for (const std::string& prefix : prefixes(own)) {
    for (const std::string& name : parts_->names()) {
      out.push_back(
          {prefix + name, at::empty(parts_->whole_shape(name), own.front().tensor.options())});
    }
  }
  return out;
}

bool WholeState::load(const Weights& weights, const WeightRules& rules, Model& model,
                      HeadPolicy policy) const {
  bool has_head = true;
  if (parts_ == nullptr) {
    on_rank_0(mesh_.world(), [&] { has_head = load_weights(weights, rules, model, policy); });
    mesh_.world().broadcast(model_state(model));
    return has_head;
  }
  const std::vector<NamedTensor> own = model_state(model);
  const std::vector<NamedTensor> whole = to_fill(own);
  on_rank_0(mesh_.world(), [&] {
    std::vector<NamedTensor> named;
    for (const std::string& name : parts_->names())
      named.push_back({name, *find_tensor(whole, kModelPrefix + name)});
    WholeModel all(std::move(named));
    has_head = load_weights(weights, rules, all, policy);
  });
  spread(whole, own);
  return has_head;
}

void WholeState::spread(const std::vector<NamedTensor>& whole,
                        const std::vector<NamedTensor>& own) const {
  if (parts_ == nullptr) {
    mesh_.world().broadcast(own);
    return;
  }
  const at::NoGradGuard no_grad;
  mesh_.world().broadcast(others(own));
  for (const std::string& prefix : prefixes(own)) {
    for (const std::string& name : parts_->names()) {
      const at::Tensor* const from = find_tensor(whole, prefix + name);
      const at::Tensor all = mesh_.world().rank() == 0 ? from->detach().contiguous()
                                                       : at::empty(parts_->whole_shape(name),
                                                                   own.front().tensor.options());
      mesh_.world().broadcast(std::vector<at::Tensor>{all});
      const at::Tensor* const mine = find_tensor(own, prefix + name);
      if (mine != nullptr)
        at::Tensor(*mine).detach().copy_(parts_->part(name, all, mesh_.same_data().rank()));
    }
  }
}

}  // namespace ffkit
