#include "step/whole_state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>

#include "checkpoint/checkpoint.h"
#include "optim/optimizer.h"

namespace ffkit {
namespace {

const at::Tensor* find_tensor(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto it = std::ranges::find(tensors, name, &NamedTensor::name);
  return it == tensors.end() ? nullptr : &it->tensor;
}

// The parameters of a model that each process has all of.
class AllOfModel final : public ParameterParts {
 public:
  explicit AllOfModel(const Model& model) {
    for (const NamedTensor& p : model.parameters()) {
      names_.push_back(p.name);
      shapes_[p.name] = p.tensor.sizes().vec();
    }
  }
  std::vector<std::string> names() const override { return names_; }
  std::vector<int64_t> whole_shape(const std::string& name) const override {
    return shapes_.at(name);
  }
  std::vector<int> holders(const std::string& /*name*/) const override { return {0}; }
  TensorCut cut(const std::string& /*name*/, int /*rank*/) const override { return {}; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::vector<int64_t>> shapes_;
};

// The rows `rows` of a share's tensor.
TensorShare rows_of_share(const TensorShare& share, RowShare rows) {
  TensorShare out{.whole_shape = share.whole_shape, .dimension = share.dimension, .boxes = {}};
  int64_t offset = 0;  // of a box along its dimension
  for (const TensorBox& box : share.boxes) {
    const int64_t first = share.dimension == 0 ? offset : 0;
    const int64_t begin = std::clamp<int64_t>(rows.begin - first, 0, box.size[0]);
    const int64_t end = std::clamp<int64_t>(rows.begin + rows.count - first, 0, box.size[0]);
    offset += box.size[share.dimension];
    if (begin == end && &box != &share.boxes.back()) continue;
    TensorBox& part = out.boxes.emplace_back(box);
    part.begin[0] += begin;
    part.size[0] = end - begin;
  }
  return out;
}

}  // namespace

WholeState::WholeState(const RunMesh& mesh, const ParameterParts* parts, const Model* sharded)
    : mesh_(mesh),
      is_optimizer_sharded_(sharded != nullptr && !mesh.data().is_alone()),
      all_(parts == nullptr && is_optimizer_sharded_ ? std::make_shared<AllOfModel>(*sharded)
                                                     : nullptr),
      parts_(all_ ? all_.get() : parts) {}

bool WholeState::has_rows(const std::string& name) const {
  return is_optimizer_sharded_ && name.starts_with(kOptimizerPrefix) &&
         !parts_->whole_shape(parameter_of(name)).empty();
}

bool WholeState::has_tensor(const std::vector<NamedTensor>& own, const std::string& name) const {
  return !all_ || find_tensor(own, name) != nullptr;  // no state of frozen parameters
}

std::string WholeState::parameter_of(const std::string& name) const {
  if (parts_ == nullptr) return {};
  std::string found;
  for (const std::string& parameter : parts_->names()) {
    if (parameter.size() > found.size() && name.ends_with("." + parameter)) found = parameter;
  }
  return found;
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

TensorShare WholeState::share_of(const std::string& name, const std::string& parameter) const {
  const TensorCut cut = parts_->cut(parameter, mesh_.same_data().rank());
  TensorShare share = TensorShare::of_all(parts_->whole_shape(parameter));
  if (!cut.runs.empty()) {
    const TensorBox all = share.boxes.front();
    share.dimension = cut.dimension;
    share.boxes.clear();
    for (const TensorCut::Run& run : cut.runs) {
      TensorBox& box = share.boxes.emplace_back(all);
      box.begin[cut.dimension] = run.begin;
      box.size[cut.dimension] = run.count;
    }
  }
  if (!has_rows(name)) return share;
  return rows_of_share(share,
                       row_share(share.shape()[0], mesh_.data().rank(), mesh_.data().world_size()));
}

std::vector<SharedTensor> WholeState::shares(const std::vector<NamedTensor>& own) const {
  std::vector<SharedTensor> out;
  for (const auto& [name, tensor] : own) {
    const std::string parameter = parameter_of(name);
    out.push_back({name, tensor.detach(),
                   parameter.empty() ? TensorShare::of_all(tensor.sizes().vec())
                                     : share_of(name, parameter)});
  }
  return out;
}

std::vector<SharedTensor> WholeState::to_write(const std::vector<NamedTensor>& own) const {
  std::vector<SharedTensor> out;
  for (SharedTensor& t : shares(own)) {
    const std::string parameter = parameter_of(t.name);
    if (parameter.empty() || t.share.num_elements() == 0) continue;
    if (mesh_.data().rank() != 0 && !has_rows(t.name)) continue;
    const std::vector<int> holders = parts_->holders(parameter);
    if (std::ranges::find(holders, mesh_.same_data().rank()) != holders.end())
      out.push_back(std::move(t));
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

std::vector<NamedTensor> WholeState::to_fill(const std::vector<NamedTensor>& own) const {
  if (!is_divided()) return own;
  if (mesh_.world().rank() != 0) return {};
  std::vector<NamedTensor> out = others(own);
  for (const std::string& prefix : prefixes(own)) {
    for (const std::string& name : parts_->names()) {
      if (!has_tensor(own, prefix + name)) continue;
      out.push_back(
          {prefix + name, at::empty(parts_->whole_shape(name), own.front().tensor.options())});
    }
  }
  return out;
}

void WholeState::load_checkpoint(const std::filesystem::path& checkpoint,
                                 const std::vector<NamedTensor>& own) const {
  Communicator& world = mesh_.world();
  const bool in_parts =
      !world.broadcast(std::string(is_in_parts(checkpoint) ? "in parts" : "")).empty();
  if (is_divided() && in_parts) {
    on_all_ranks(world, [&] { load_shares(checkpoint, shares(own)); });
    return;
  }
  const std::vector<NamedTensor> whole = to_fill(own);
  on_rank_0(world, [&] { ffkit::load_checkpoint(checkpoint, whole); });
  spread(whole, own);
}

void WholeState::load(const Weights& weights, const WeightRules& rules, Model& model,
                      HeadPolicy policy, std::vector<std::string>* notes) const {
  if (!is_divided()) {
    on_rank_0(mesh_.world(), [&] { load_weights(weights, rules, model, policy, notes); });
    mesh_.world().broadcast(model_state(model));
    return;
  }
  const std::vector<NamedTensor> own = model_state(model);
  const std::vector<NamedTensor> whole = to_fill(own);
  on_rank_0(mesh_.world(), [&] {
    std::vector<NamedTensor> named;
    for (const std::string& name : parts_->names())
      named.push_back({name, *find_tensor(whole, kModelPrefix + name)});
    WholeModel all(std::move(named));
    load_weights(weights, rules, all, policy, notes);
  });
  spread(whole, own);
}

void WholeState::spread(const std::vector<NamedTensor>& whole,
                        const std::vector<NamedTensor>& own) const {
  if (!is_divided()) {
    mesh_.world().broadcast(own);
    return;
  }
  const at::NoGradGuard no_grad;
  mesh_.world().broadcast(others(own));
  for (const std::string& prefix : prefixes(own)) {
    for (const std::string& name : parts_->names()) {
      if (!has_tensor(own, prefix + name)) continue;
      const at::Tensor* const from = find_tensor(whole, prefix + name);
      const at::Tensor all = mesh_.world().rank() == 0 ? from->detach().contiguous()
                                                       : at::empty(parts_->whole_shape(name),
                                                                   own.front().tensor.options());
      mesh_.world().broadcast(std::vector<at::Tensor>{all});
      const at::Tensor* const mine = find_tensor(own, prefix + name);
      if (mine == nullptr) continue;
      copy_share(all, TensorShare::of_all(parts_->whole_shape(name)), mine->detach(),
                 share_of(prefix + name, name));
    }
  }
}

}  // namespace ffkit
