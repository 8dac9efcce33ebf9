#include "checkpoint/weights.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include <ffkit/format/error.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_parts.h"
#include "files/pth.h"
#include "files/safetensors.h"
#include "format/printable.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_weights(const Weights& weights, const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message, {.path = weights.path.string()});
}

void remove_prefix_of_all(std::vector<NamedTensor>& tensors, std::string_view prefix) {
  const bool all = std::all_of(tensors.begin(), tensors.end(),
                               [&](const NamedTensor& t) { return t.name.starts_with(prefix); });
  if (!all) return;
  for (NamedTensor& t : tensors) t.name.erase(0, prefix.size());
}

std::string type_and_shape(const at::Tensor& t) {
  return fmt::format("{} [{}]", c10::toString(t.scalar_type()), fmt::join(t.sizes(), ", "));
}

// Whether `stored` is a head's weight or bias with another number of rows.
bool is_other_head(const WeightRules& rules, const NamedTensor& target, const at::Tensor& stored) {
  if (rules.head.empty()) return false;
  if (target.name != rules.head + ".weight" && target.name != rules.head + ".bias") return false;
  return stored.dim() > 0 && stored.dim() == target.tensor.dim() && stored.size(0) > 0 &&
         stored.size(0) != target.tensor.size(0) &&
         stored.sizes().slice(1) == target.tensor.sizes().slice(1);
}

bool can_be_converted(at::ScalarType from, at::ScalarType to) {
  return from == to || (at::isFloatingType(from) && at::isFloatingType(to)) ||
         (at::isIntegralType(from, false) && at::isIntegralType(to, false));
}

}  // namespace

bool holds_weights_alone(const fs::path& path) {
  if (fs::is_directory(path)) return false;
  return looks_like_pth(path) || !is_checkpoint_metadata(read_safetensors_metadata(path));
}

Weights read_weights(const fs::path& path) {
  Weights weights{.path = path, .tensors = {}};
  if (!fs::is_directory(path) && looks_like_pth(path)) {
    weights.tensors = read_pth(path);
  } else if (is_checkpoint_metadata(read_safetensors_metadata(metadata_file(path)))) {
    weights.tensors = model_tensors(path);
  } else {
    weights.tensors = read_safetensors(path).tensors;
  }
  if (weights.tensors.empty()) refuse_weights(weights, "holds no tensors");
  for (const char* prefix : {"_orig_mod.", "module.", "_orig_mod."}) {
    remove_prefix_of_all(weights.tensors, prefix);
  }
  return weights;
}

namespace {

// 19 of "snapshot_19.pth.tar", as RootNet's code names its checkpoints; nothing of other names.
std::optional<int64_t> snapshot_epoch(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view kBegin = "snapshot_", kEnd = ".pth.tar";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return {};
  const char* first = name.data() + kBegin.size();
  const char* last = name.data() + name.size() - kEnd.size();
  int64_t epoch = 0;
  const auto [end, error] = std::from_chars(first, last, epoch);
  if (error != std::errc{} || end != last || epoch < 0) return {};
  return epoch;
}

}  // namespace

void write_weights(const Weights& weights, const fs::path& path) {
  const std::optional<int64_t> snapshot = snapshot_epoch(path);
  const bool is_pth = path.extension() == ".pth" || path.extension() == ".pt" ||
                      path.filename() == "pytorch_model.bin";
  if (!is_pth && !snapshot && path.extension() != ".safetensors") {
    throw Error(ErrorCode::invalid_argument,
                "weights are written as .safetensors or .pth; give a name that ends so",
                {.path = path.string()});
  }
  if (fs::exists(fs::symlink_status(path))) {
    throw Error(ErrorCode::invalid_argument, "exists; delete it or give another name",
                {.path = path.string()});
  }
  if (snapshot) {
    write_snapshot(path, *snapshot, weights.tensors);
  } else if (is_pth) {
    write_pth(path, weights.tensors);
  } else {
    // "format" tells libraries in Python that the tensors are PyTorch's.
    write_safetensors(path, {.tensors = weights.tensors, .metadata = {{"format", "pt"}}});
  }
}

int64_t head_rows(const Weights& weights, const WeightRules& rules) {
  for (const NamedTensor& t : weights.tensors) {
    if (t.name == rules.head + ".weight" && t.tensor.dim() == 2 && t.tensor.size(0) > 0) {
      return t.tensor.size(0);
    }
  }
  refuse_weights(
      weights,
      fmt::format(
          "has no tensor '{}.weight' of two dimensions, which a {} has; is it of another {}?",
          rules.head, rules.name, rules.choice));
}

bool load_weights(const Weights& weights, const WeightRules& rules, Model& model,
                  HeadPolicy policy) {
  std::vector<NamedTensor> tensors = weights.tensors;
  if (rules.prepare) rules.prepare(weights.path.string(), tensors);
  std::unordered_map<std::string, at::Tensor> stored;
  for (const NamedTensor& t : tensors) {
    const std::string name = rules.current_name ? rules.current_name(t.name) : t.name;
    if (!stored.emplace(name, t.tensor).second) {
      refuse_weights(weights, fmt::format("holds the tensor '{}' twice", printable(name)));
    }
  }
  std::vector<NamedTensor> targets = model.parameters();
  for (NamedTensor& buffer : model.buffers()) targets.push_back(std::move(buffer));

  bool has_head = true;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const NamedTensor& target : targets) {
    const auto it = stored.find(target.name);
    if (it == stored.end()) {
      if (target.name.ends_with(".num_batches_tracked")) continue;
      refuse_weights(weights,
                     fmt::format("has no tensor '{}', which a {} needs; is it of another {}?",
                                 target.name, rules.name, rules.choice));
    }
    const at::Tensor tensor = it->second;
    stored.erase(it);
    if (policy == HeadPolicy::may_differ && is_other_head(rules, target, tensor)) {
      has_head = false;
      continue;
    }
    if (!can_be_converted(tensor.scalar_type(), target.tensor.scalar_type()) ||
        tensor.sizes() != target.tensor.sizes()) {
      refuse_weights(weights,
                     fmt::format("tensor '{}' is {}, but the model needs {}; is it of another {}, "
                                 "or of one with other options?",
                                 target.name, type_and_shape(tensor), type_and_shape(target.tensor),
                                 rules.choice));
    }
    copies.emplace_back(target.tensor, tensor);
  }
  if (!stored.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : stored) names.push_back(name);
    refuse_weights(
        weights,
        fmt::format("holds the tensor '{}', which a {} does not have; is it of another {}?",
                    printable(*std::min_element(names.begin(), names.end())), rules.name,
                    rules.choice));
  }
  at::NoGradGuard no_grad;
  for (auto& [to, from] : copies) to.copy_(from);
  return has_head;
}

}  // namespace ffkit
