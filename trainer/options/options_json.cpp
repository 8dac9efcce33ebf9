#include "options/options_json.h"

#include <filesystem>
#include <type_traits>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

// Calls visit(name, member) for every option that a checkpoint holds.
template <typename Options, typename Visitor>
void for_each_option(Options& o, Visitor visit) {
  visit("data", o.data);
  visit("arch", o.arch);
  visit("pretrained", o.pretrained);
  visit("image_size", o.image_size);
  visit("progressive_size", o.progressive_size);
  visit("progressive_from", o.progressive_from);
  visit("progressive_to", o.progressive_to);
  visit("crop_scale_min", o.crop_scale_min);
  visit("crop_scale_max", o.crop_scale_max);
  visit("eval_size", o.eval_size);
  visit("eval_resize", o.eval_resize);
  visit("interpolation", o.interpolation);
  visit("auto_augment", o.auto_augment);
  visit("randaugment_ops", o.randaugment_ops);
  visit("randaugment_magnitude", o.randaugment_magnitude);
  visit("jitter_brightness", o.jitter_brightness);
  visit("jitter_contrast", o.jitter_contrast);
  visit("jitter_saturation", o.jitter_saturation);
  visit("jitter_hue", o.jitter_hue);
  visit("random_erasing", o.random_erasing);
  visit("mixup_alpha", o.mixup_alpha);
  visit("cutmix_alpha", o.cutmix_alpha);
  visit("epochs", o.epochs);
  visit("batch_size", o.batch_size);
  visit("global_batch_size", o.global_batch_size);
  visit("accumulate", o.accumulate);
  visit("lr_scaling", o.lr_scaling);
  visit("lr_base_batch", o.lr_base_batch);
  visit("lr", o.lr);
  visit("lr_schedule", o.lr_schedule);
  visit("lr_min", o.lr_min);
  visit("warmup_epochs", o.warmup_epochs);
  visit("warmup_start", o.warmup_start);
  visit("lr_step_epochs", o.lr_step_epochs);
  visit("lr_gamma", o.lr_gamma);
  visit("lr_power", o.lr_power);
  visit("optimizer", o.optimizer);
  visit("momentum", o.momentum);
  visit("nesterov", o.nesterov);
  visit("adam_beta1", o.adam_beta1);
  visit("adam_beta2", o.adam_beta2);
  visit("adam_eps", o.adam_eps);
  visit("lars_trust", o.lars_trust);
  visit("weight_decay", o.weight_decay);
  visit("norm_decay", o.norm_decay);
  visit("clip_grad_norm", o.clip_grad_norm);
  visit("label_smoothing", o.label_smoothing);
  visit("ema_decay", o.ema_decay);
  visit("ema_steps", o.ema_steps);
  visit("zero_init_residual", o.zero_init_residual);
  visit("seed", o.seed);
  visit("sync_bn", o.sync_bn);
  visit("broadcast_buffers", o.broadcast_buffers);
  visit("amp", o.amp);
  visit("loss_scale", o.loss_scale);
  visit("channels_last", o.channels_last);
  visit("deterministic", o.deterministic);
  visit("threads", o.threads);
  visit("prefetch", o.prefetch);
  visit("max_record", o.max_record_bytes);
  visit("compute_threads", o.compute_threads);
  visit("device", o.device);
  visit("limit_batches", o.limit_batches);
  visit("dummy", o.dummy);
  visit("keep_checkpoints", o.keep_checkpoints);
  visit("checkpoint_minutes", o.checkpoint_minutes);
  visit("log_every", o.log_every);
}

Json encode(const auto& value) {
  if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>) {
    return to_string(value);
  } else {
    return value;
  }
}
Json encode(const std::filesystem::path& value) {
  return value.empty() ? std::string()
                       : std::filesystem::absolute(value).lexically_normal().string();
}

void decode(const Json& json, auto& value) {
  json.get_to(value);
}
void decode(const Json& json, Amp& value) {
  value = parse_amp(json.get<std::string>());
}
void decode(const Json& json, LrScaling& value) {
  value = parse_lr_scaling(json.get<std::string>());
}
void decode(const Json& json, LrSchedule& value) {
  value = parse_lr_schedule(json.get<std::string>());
}
void decode(const Json& json, OptimizerKind& value) {
  value = parse_optimizer(json.get<std::string>());
}
void decode(const Json& json, AutoAugment& value) {
  value = parse_auto_augment(json.get<std::string>());
}
void decode(const Json& json, Interpolation& value) {
  value = parse_interpolation(json.get<std::string>());
}
void decode(const Json& json, std::filesystem::path& value) {
  value = json.get<std::string>();
}

}  // namespace

std::string options_to_json(const TrainOptions& options) {
  Json json = Json::object();
  for_each_option(options,
                  [&](const char* name, const auto& value) { json[name] = encode(value); });
  // Checkpoints from before there were tasks have none, and are read by programs of before.
  if (options.task_name() != kFirstTask) json["task"] = options.task;
  return json.dump();
}

TrainOptions options_from_json(const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw Error(ErrorCode::corrupt, "its options are not a JSON object; it was changed by hand",
                {.path = path});
  }
  TrainOptions options;
  const auto decode_one = [&](const char* name, auto& value) {
    // A checkpoint of before there was this option: its default is what the run had.
    if (!json.contains(name)) return;
    try {
      decode(json.at(name), value);
    } catch (const Json::exception&) {
      throw Error(ErrorCode::corrupt,
                  std::string("option '") + name +
                      "' is of another type; the checkpoint "
                      "was written by another version of fftrain or changed by hand",
                  {.path = path});
    }
  };
  for_each_option(options, decode_one);
  decode_one("task", options.task);
  return options;
}

}  // namespace ffkit
