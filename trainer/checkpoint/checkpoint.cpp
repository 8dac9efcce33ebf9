#include "checkpoint/checkpoint.h"

#include <ATen/core/grad_mode.h>

#include <unordered_map>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/trainer/task_registry.h>

#include "base/json_text.h"
#include "base/make_error.h"
#include "checkpoint/checkpoint_parts.h"
#include "model/parameters.h"
#include "options/stored_options.h"
#include "report/json_number.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kVersion = 1;
constexpr char kVersionKey[] = "ffkit_checkpoint";

// A file of tensors that does not say that it is a checkpoint. In the folder of a run it is a
// damaged one.
class NoCheckpointError : public Error {
 public:
  explicit NoCheckpointError(const fs::path& path)
      : Error(ErrorCode::invalid_argument,
              "the file contains tensors, but it is not a checkpoint of fftrain; give a checkpoint "
              "from the work folder of a run",
              {.path = path.string(), .subject = ErrorSubject::checkpoint}) {}
};

// Of the best value in the progress: "best_top1".
std::string best_key(const TrainOptions& options) {
  return "best_" + TaskRegistry::instance().find(options.task_name()).best;
}

std::map<std::string, std::string> to_metadata(const CheckpointInfo& info) {
  const Json progress = {{"epochs_done", info.epochs_done},
                         {"steps_done", info.steps_done},
                         {"epoch_steps", info.epoch_steps},
                         {"epoch_loss_sum", json_number(info.epoch_loss_sum)},
                         {best_key(info.options), json_number(info.best)},
                         {"best_epoch", info.best_epoch},
                         {"global_batch_size", info.global_batch_size}};
  const Json loader = {{"fingerprint", info.loader.fingerprint},
                       {"seed", info.loader.seed},
                       {"epoch", info.loader.epoch},
                       {"position", info.loader.position},
                       {"order", info.loader.order}};
  std::map<std::string, std::string> out = {
      {kVersionKey, std::to_string(kVersion)},
      {"options", options_to_json(info.options, TaskRegistry::instance())},
      {"progress", json_text(progress)},
      {"loader", json_text(loader)}};
  out.insert(info.facts.begin(), info.facts.end());
  return out;
}

CheckpointInfo from_metadata(const fs::path& path, const std::map<std::string, std::string>& text) {
  if (!is_checkpoint_metadata(text)) throw NoCheckpointError(path);
  const auto version = text.find(kVersionKey);
  if (version != text.end() && version->second != std::to_string(kVersion)) {
    throw checkpoint_error(path, ErrorCode::unsupported,
                           "the checkpoint has version {}, but this fftrain reads version {}; use "
                           "the fftrain that wrote the checkpoint",
                           version->second, kVersion);
  }
  CheckpointInfo info;
  std::string part = kVersionKey;
  try {
    text.at(part);
    part = "options";
    info.options = options_from_json(text.at(part), path.string(), TaskRegistry::instance());
    for (const std::string& name : TaskRegistry::instance().find(info.options.task_name()).facts) {
      part = name;
      info.facts[name] = text.at(name);
    }
    part = "progress";
    const Json progress = Json::parse(text.at(part));
    progress.at("epochs_done").get_to(info.epochs_done);
    progress.at("steps_done").get_to(info.steps_done);
    progress.at("epoch_steps").get_to(info.epoch_steps);
    info.epoch_loss_sum = number_of_json(progress.at("epoch_loss_sum"));
    info.best = number_of_json(progress.at(best_key(info.options)));
    progress.at("best_epoch").get_to(info.best_epoch);
    progress.at("global_batch_size").get_to(info.global_batch_size);
    part = "loader";
    const Json loader = Json::parse(text.at(part));
    loader.at("fingerprint").get_to(info.loader.fingerprint);
    loader.at("seed").get_to(info.loader.seed);
    loader.at("epoch").get_to(info.loader.epoch);
    loader.at("position").get_to(info.loader.position);
    loader.at("order").get_to(info.loader.order);
  } catch (const std::logic_error&) {  // std::out_of_range: the part is not there
    throw checkpoint_error(path, ErrorCode::corrupt,
                           "the checkpoint has no part '" + part +
                               "'; the checkpoint is damaged or was changed by hand");
  } catch (const Json::exception&) {
    throw checkpoint_error(path, ErrorCode::corrupt,
                           "part '{}' of the checkpoint is incomplete; the checkpoint is damaged "
                           "or was changed by hand",
                           part);
  }
  return info;
}

}  // namespace

bool is_damage(const Error& error) {
  return error.code() == ErrorCode::corrupt ||
         dynamic_cast<const NoCheckpointError*>(&error) != nullptr;
}

bool is_out_of_patience(const CheckpointInfo& stored, const TrainOptions& options) {
  return options.patience > 0 && stored.epoch_steps == 0 &&
         stored.epochs_done - stored.best_epoch >= options.patience * options.eval_every;
}

bool is_finished(const CheckpointInfo& stored, const TrainOptions& options) {
  if (is_out_of_patience(stored, options)) return true;
  if (options.steps == 0) return stored.epochs_done >= options.epochs;
  // Before its last validation, an epoch is not finished.
  return stored.steps_done >= options.steps && stored.epoch_steps == 0;
}

void append_with_prefix(const char* prefix, const std::vector<NamedTensor>& tensors,
                        std::vector<NamedTensor>& out) {
  for (const auto& [name, tensor] : tensors) out.push_back({prefix + name, tensor});
}

std::vector<NamedTensor> model_state(const Model& model, const char* prefix) {
  std::vector<NamedTensor> out;
  append_with_prefix(prefix, model.parameters(), out);
  append_with_prefix(prefix, model.buffers(), out);
  return out;
}

std::vector<NamedTensor> evaluated_state(const Model& model, const TrainOptions& options) {
  return model_state(model, options.ema_decay == 0 ? kModelPrefix : kAveragePrefix);
}

SafeTensors snapshot(const CheckpointInfo& info, const std::vector<NamedTensor>& state) {
  at::NoGradGuard no_grad;
  SafeTensors contents{.tensors = {}, .metadata = to_metadata(info)};
  for (const auto& [name, tensor] : state) {
    contents.tensors.push_back({name, tensor.is_cpu() ? tensor.clone() : tensor.cpu()});
  }
  return contents;
}

std::string info_to_text(const CheckpointInfo& info) {
  return json_text(Json(to_metadata(info)));
}

CheckpointInfo info_from_text(const std::string& text) {
  return from_metadata({}, Json::parse(text).get<std::map<std::string, std::string>>());
}

CheckpointInfo read_checkpoint_info(const fs::path& path) {
  const fs::path file = metadata_file(path);
  const std::map<std::string, std::string> metadata = read_safetensors_metadata(file);
  try {
    return from_metadata(file, metadata);
  } catch (const Error& error) {
    // An option that cannot be may be a byte that is damaged.
    if (!is_damage(error)) check_checkpoint(path, /*may_have_nan=*/true);
    throw;
  }
}

CheckpointInfo load_checkpoint(const fs::path& path, const std::vector<NamedTensor>& state) {
  if (is_in_parts(path)) {
    std::vector<SharedTensor> whole;
    for (const auto& [name, tensor] : state)
      whole.push_back({name, tensor.detach(), TensorShare::of_all(tensor.sizes().vec())});
    load_shares(path, whole);
    return read_checkpoint_info(path);
  }
  SafeTensors contents = read_safetensors(path);
  CheckpointInfo info = from_metadata(path, contents.metadata);
  require_crc(path, contents);
  std::unordered_map<std::string, at::Tensor> stored;
  for (NamedTensor& t : contents.tensors) stored.emplace(t.name, std::move(t.tensor));
  std::vector<at::Tensor> sources;
  for (const auto& [name, target] : state) {
    const auto it = stored.find(name);
    if (it == stored.end()) refuse_without_tensor(path, name);
    require_same_tensor(path, name, {it->second.scalar_type(), it->second.sizes()},
                        {target.scalar_type(), target.sizes()});
    sources.push_back(it->second);
  }
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < state.size(); ++i) at::Tensor(state[i].tensor).copy_(sources[i]);
  return info;
}

bool is_checkpoint_metadata(const std::map<std::string, std::string>& metadata) {
  // Without its first name, too: one byte of it may be damaged.
  return metadata.contains(kVersionKey) ||
         (metadata.contains("progress") && metadata.contains("loader"));
}

std::vector<NamedTensor> model_tensors(const fs::path& path, const SafeTensorsReader& file) {
  const CheckpointInfo info = from_metadata(file.path(), file.metadata());
  const std::string prefix = info.options.ema_decay > 0 ? kAveragePrefix : kModelPrefix;
  std::vector<NamedTensor> all;
  if (is_in_parts(path)) {
    all = load_whole(path, prefix);
  } else {
    SafeTensors contents = file.read_all();
    require_crc(path, contents);
    all = std::move(contents.tensors);
  }
  std::vector<NamedTensor> tensors;
  for (NamedTensor& t : all) {
    if (!t.name.starts_with(prefix)) continue;
    tensors.push_back({t.name.substr(prefix.size()), std::move(t.tensor)});
  }
  return tensors;
}

void check_checkpoint(const fs::path& path, bool may_have_nan) {
  if (is_in_parts(path)) {
    check_parts(path);
    return;
  }
  SafeTensors contents = read_safetensors(path);
  if (!is_checkpoint_metadata(contents.metadata)) throw NoCheckpointError(path);
  require_crc(path, contents);
  if (may_have_nan) return;
  std::erase_if(contents.tensors, [](const NamedTensor& t) { return t.name.starts_with("task."); });
  const std::string wrong = first_not_finite(contents.tensors, NotFinite::nan_alone);
  if (wrong.empty()) return;
  throw checkpoint_error(path, ErrorCode::corrupt,
                         "its tensor '{}' contains nan, because the training had diverged", wrong);
}

}  // namespace ffkit
