#include "checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mutex>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

#include "options_json.h"
#include "safetensors.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kVersion = 1;
constexpr char kVersionKey[] = "ffkit_checkpoint";
constexpr char kModel[] = "model.";
constexpr char kOptimizer[] = "optimizer.";
constexpr char kAverage[] = "ema.";
constexpr char kRng[] = "rng.cpu";

std::map<std::string, std::string> to_metadata(const CheckpointInfo& info) {
  const Json progress = {{"epochs_done", info.epochs_done},
                         {"steps_done", info.steps_done},
                         {"best_top1", info.best_top1},
                         {"best_epoch", info.best_epoch}};
  const Json loader = {{"fingerprint", info.loader.fingerprint},
                       {"seed", info.loader.seed},
                       {"epoch", info.loader.epoch},
                       {"position", info.loader.position}};
  return {{kVersionKey, std::to_string(kVersion)},
          {"options", options_to_json(info.options)},
          {"classes", Json(info.classes).dump()},
          {"progress", progress.dump()},
          {"loader", loader.dump()}};
}

CheckpointInfo from_metadata(const fs::path& path, const std::map<std::string, std::string>& text) {
  const auto version = text.find(kVersionKey);
  if (version == text.end()) {
    throw Error(ErrorCode::invalid_argument,
                "holds tensors but is not a checkpoint of fftrain; give a file that fftrain wrote "
                "into its work folder",
                {.path = path.string()});
  }
  if (version->second != std::to_string(kVersion)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("is a checkpoint of version {}, but this fftrain reads version {}; use "
                            "the fftrain that wrote it",
                            version->second, kVersion),
                {.path = path.string()});
  }
  CheckpointInfo info;
  std::string part;
  try {
    part = "options";
    info.options = options_from_json(text.at(part), path.string());
    part = "classes";
    Json::parse(text.at(part)).get_to(info.classes);
    part = "progress";
    const Json progress = Json::parse(text.at(part));
    progress.at("epochs_done").get_to(info.epochs_done);
    progress.at("steps_done").get_to(info.steps_done);
    progress.at("best_top1").get_to(info.best_top1);
    progress.at("best_epoch").get_to(info.best_epoch);
    part = "loader";
    const Json loader = Json::parse(text.at(part));
    loader.at("fingerprint").get_to(info.loader.fingerprint);
    loader.at("seed").get_to(info.loader.seed);
    loader.at("epoch").get_to(info.loader.epoch);
    loader.at("position").get_to(info.loader.position);
  } catch (const std::logic_error&) {  // std::out_of_range: the part is not there
    throw Error(ErrorCode::corrupt,
                "lacks the part '" + part + "' of a checkpoint; it was changed by hand",
                {.path = path.string()});
  } catch (const Json::exception&) {
    throw Error(ErrorCode::corrupt, "its part '" + part + "' is incomplete; it was changed by hand",
                {.path = path.string()});
  }
  return info;
}

// Tensors of a run under their names in a checkpoint, those of the model with `prefix`.
std::vector<NamedTensor> tensors_of(const Model& model, const std::string& prefix,
                                    const Optimizer* optimizer, const ModelAverage* average) {
  std::vector<NamedTensor> out;
  for (const auto& [name, tensor] : model.parameters()) out.push_back({prefix + name, tensor});
  for (const auto& [name, tensor] : model.buffers()) out.push_back({prefix + name, tensor});
  if (optimizer != nullptr) {
    for (const auto& [name, tensor] : optimizer->state()) {
      out.push_back({kOptimizer + name, tensor});
    }
  }
  if (average != nullptr) {
    for (const auto& [name, tensor] : average->tensors()) out.push_back({kAverage + name, tensor});
  }
  return out;
}

std::string describe(const at::Tensor& t) {
  return fmt::format("{} [{}]", c10::toString(t.scalar_type()), fmt::join(t.sizes(), ", "));
}

const at::Tensor& find_matching(const fs::path& path,
                                const std::unordered_map<std::string, at::Tensor>& stored,
                                const NamedTensor& wanted) {
  const auto it = stored.find(wanted.name);
  if (it == stored.end()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "has no tensor '{}', which the run needs; is it of another --arch or --optimizer?",
            wanted.name),
        {.path = path.string()});
  }
  if (it->second.scalar_type() != wanted.tensor.scalar_type() ||
      it->second.sizes() != wanted.tensor.sizes()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("tensor '{}' is {}, but the model needs {}; is it of another --arch or "
                            "another number of classes?",
                            wanted.name, describe(it->second), describe(wanted.tensor)),
                {.path = path.string()});
  }
  return it->second;
}

at::Generator generator() {
  return at::detail::getDefaultCPUGenerator();
}

at::Tensor rng_state() {
  at::Generator g = generator();
  std::lock_guard lock(g.mutex());
  return g.get_state();
}

}  // namespace

void save_checkpoint(const fs::path& path, const CheckpointInfo& info, const Model& model,
                     const Optimizer& optimizer, const ModelAverage* average) {
  SafeTensors contents{.tensors = tensors_of(model, kModel, &optimizer, average),
                       .metadata = to_metadata(info)};
  contents.tensors.push_back({kRng, rng_state()});
  write_safetensors(path, contents);
}

CheckpointInfo read_checkpoint_info(const fs::path& path) {
  return from_metadata(path, read_safetensors_metadata(path));
}

CheckpointInfo load_checkpoint(const fs::path& path, Model& model, Optimizer* optimizer,
                               ModelAverage* average) {
  SafeTensors contents = read_safetensors(path);
  CheckpointInfo info = from_metadata(path, contents.metadata);
  if (!contents.is_checked) {
    throw Error(ErrorCode::corrupt,
                "has no CRC-32C; the checkpoint is damaged or was rewritten by another program",
                {.path = path.string()});
  }
  std::unordered_map<std::string, at::Tensor> stored;
  for (NamedTensor& t : contents.tensors) stored.emplace(t.name, std::move(t.tensor));

  const bool has_average = info.options.ema_decay > 0;
  std::vector<NamedTensor> targets =
      tensors_of(model, optimizer == nullptr && has_average ? kAverage : kModel, optimizer,
                 has_average ? average : nullptr);
  const at::Tensor rng = rng_state();
  if (optimizer != nullptr) targets.push_back({kRng, rng});
  std::vector<at::Tensor> sources;
  for (const NamedTensor& target : targets) {
    sources.push_back(find_matching(path, stored, target));
  }

  at::NoGradGuard no_grad;
  for (size_t i = 0; i < targets.size(); ++i) targets[i].tensor.copy_(sources[i]);
  if (average != nullptr && !has_average) average->reset();
  if (optimizer != nullptr) {
    at::Generator g = generator();
    std::lock_guard lock(g.mutex());
    g.set_state(rng);
  }
  return info;
}

}  // namespace ffkit
