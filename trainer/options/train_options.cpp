#include <fmt/format.h>

#include <cmath>
#include <utility>

#include <ffkit/format/error.h>
#include <ffkit/trainer/train_options.h>

#include "format/printable.h"
#include "model/model_registry.h"

namespace ffkit {
namespace {

void require(bool holds, const char* option, const std::string& range, const auto& got) {
  if (holds) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} must be {}, but it is {}", option, range, got));
}

}  // namespace

std::vector<std::string> arch_names() {
  return ModelRegistry::instance().names();
}

std::string_view to_string(Amp amp) {
  switch (amp) {
    case Amp::off:
      return "off";
    case Amp::bf16:
      return "bf16";
    case Amp::fp16:
      break;
  }
  return "fp16";
}

Amp parse_amp(std::string_view name) {
  if (name == "O0") return Amp::off;
  if (name == "O1" || name == "O2") return Amp::fp16;
  for (Amp amp : {Amp::off, Amp::bf16, Amp::fp16}) {
    if (name == to_string(amp)) return amp;
  }
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("there is no --amp '{}'; there are off (O0), bf16 and fp16 (O1, O2)", name));
}

std::string_view to_string(LrScaling scaling) {
  switch (scaling) {
    case LrScaling::none:
      return "none";
    case LrScaling::linear:
      return "linear";
    case LrScaling::sqrt:
      break;
  }
  return "sqrt";
}

LrScaling parse_lr_scaling(std::string_view name) {
  for (LrScaling scaling : {LrScaling::none, LrScaling::linear, LrScaling::sqrt}) {
    if (name == to_string(scaling)) return scaling;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no --lr-scaling '{}'; there are none, linear and sqrt", name));
}

std::string_view to_string(LrSchedule schedule) {
  switch (schedule) {
    case LrSchedule::step:
      return "step";
    case LrSchedule::polynomial:
      return "polynomial";
    case LrSchedule::onecycle:
      return "onecycle";
    case LrSchedule::constant:
      return "constant";
    case LrSchedule::cosine:
      break;
  }
  return "cosine";
}

LrSchedule parse_lr_schedule(std::string_view name) {
  for (LrSchedule schedule : {LrSchedule::cosine, LrSchedule::step, LrSchedule::polynomial,
                              LrSchedule::onecycle, LrSchedule::constant}) {
    if (name == to_string(schedule)) return schedule;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no lr schedule '{}'; there are cosine, step, polynomial, "
                          "onecycle and constant",
                          name));
}

std::string_view to_string(AutoAugment policy) {
  switch (policy) {
    case AutoAugment::randaugment:
      return "randaugment";
    case AutoAugment::trivialaugment:
      return "trivialaugment";
    case AutoAugment::none:
      break;
  }
  return "none";
}

AutoAugment parse_auto_augment(std::string_view name) {
  for (AutoAugment policy :
       {AutoAugment::none, AutoAugment::randaugment, AutoAugment::trivialaugment}) {
    if (name == to_string(policy)) return policy;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no auto augmentation '{}'; there are none, randaugment and "
                          "trivialaugment",
                          name));
}

std::string_view to_string(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adamw:
      return "adamw";
    case OptimizerKind::lars:
      return "lars";
    case OptimizerKind::sgd:
      break;
  }
  return "sgd";
}

OptimizerKind parse_optimizer(std::string_view name) {
  for (OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::lars}) {
    if (name == to_string(kind)) return kind;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no optimizer '{}'; there are sgd, adamw and lars", name));
}

std::string_view to_string(Interpolation interpolation) {
  return interpolation == Interpolation::bilinear ? "bilinear" : "bicubic";
}

Interpolation parse_interpolation(std::string_view name) {
  for (Interpolation interpolation : {Interpolation::bilinear, Interpolation::bicubic}) {
    if (name == to_string(interpolation)) return interpolation;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no interpolation '{}'; there are bilinear and bicubic", name));
}

const std::string& TrainOptions::task_name() const {
  static const std::string first = kFirstTask;
  return task.empty() ? first : task;
}

int64_t TrainOptions::resolved_eval_size() const {
  return eval_size > 0 ? eval_size : image_size;
}

int64_t TrainOptions::resolved_eval_resize() const {
  return eval_resize > 0 ? eval_resize : std::llround(double(resolved_eval_size()) * 256.0 / 224.0);
}

TrainOptions TrainOptions::resolved(int world_size) const {
  TrainOptions out = *this;
  const int64_t shares = world_size * accumulate;
  if (global_batch_size > 0) {
    if (global_batch_size % shares != 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("global-batch-size is {}, which {} processes with {} batches a step "
                              "cannot share evenly; give a multiple of {}",
                              global_batch_size, world_size, accumulate, shares));
    }
    out.batch_size = global_batch_size / shares;
  }
  out.global_batch_size = out.batch_size * shares;
  const double factor = double(out.global_batch_size) / double(lr_base_batch);
  if (lr_scaling == LrScaling::linear) out.lr *= factor;
  if (lr_scaling == LrScaling::sqrt) out.lr *= std::sqrt(factor);
  out.lr_scaling = LrScaling::none;
  return out;
}

void validate(const TrainOptions& o) {
  ModelRegistry::instance().find(o.arch);
  // Comparisons are written so that NaN fails them.
  require(o.image_size >= 1 && o.image_size <= 16384, "image-size", "1 to 16384", o.image_size);
  require(o.crop_scale_min > 0 && o.crop_scale_min <= o.crop_scale_max && o.crop_scale_max <= 1,
          "crop-scale", "two numbers with 0 < MIN <= MAX <= 1",
          fmt::format("{} {}", o.crop_scale_min, o.crop_scale_max));
  require(o.progressive_size >= 0 && o.progressive_size <= o.image_size, "progressive-size",
          fmt::format("1 to the image size, {}, or 0 for none", o.image_size), o.progressive_size);
  require(o.progressive_size == 0 ||
              (o.progressive_from >= 0 && o.progressive_from < o.progressive_to &&
               o.progressive_to <= o.epochs),
          "progressive-epochs", fmt::format("two numbers with 0 <= FROM < TO <= {}", o.epochs),
          fmt::format("{} {}", o.progressive_from, o.progressive_to));
  require(o.eval_size >= 0 && o.eval_size <= 16384, "eval-size",
          "1 to 16384, or 0 for the image size", o.eval_size);
  require(o.eval_resize >= 0, "eval-resize", "at least 1, or 0 for the default", o.eval_resize);
  require(o.randaugment_ops >= 0 && o.randaugment_ops <= 100, "randaugment-ops", "0 to 100",
          o.randaugment_ops);
  require(o.randaugment_magnitude >= 0 && o.randaugment_magnitude <= 30, "randaugment-magnitude",
          "0 to 30", o.randaugment_magnitude);
  const auto is_strength = [](double s) { return s >= 0 && std::isfinite(s); };
  require(is_strength(o.jitter_brightness) && is_strength(o.jitter_contrast) &&
              is_strength(o.jitter_saturation) && o.jitter_hue >= 0 && o.jitter_hue <= 0.5,
          "color-jitter", "four numbers of 0 or more, the last at most 0.5",
          fmt::format("{} {} {} {}", o.jitter_brightness, o.jitter_contrast, o.jitter_saturation,
                      o.jitter_hue));
  require(o.random_erasing >= 0 && o.random_erasing <= 1, "random-erasing", "0 to 1",
          o.random_erasing);
  require(o.mixup_alpha >= 0 && o.mixup_alpha <= 1000, "mixup-alpha", "0 to 1000", o.mixup_alpha);
  require(o.cutmix_alpha >= 0 && o.cutmix_alpha <= 1000, "cutmix-alpha", "0 to 1000",
          o.cutmix_alpha);
  require(o.epochs >= 1, "epochs", "at least 1", o.epochs);
  require(o.batch_size >= 1, "batch-size", "at least 1", o.batch_size);
  require(o.global_batch_size >= 0, "global-batch-size", "at least 1, or 0 for none",
          o.global_batch_size);
  require(o.accumulate >= 1, "accumulate", "at least 1", o.accumulate);
  require(o.lr_base_batch >= 1, "lr-base-batch", "at least 1", o.lr_base_batch);
  require(o.loss_scale >= 0 && std::isfinite(o.loss_scale), "loss-scale", "positive, or dynamic",
          o.loss_scale);
  require(o.prefetch >= 1 && o.prefetch <= 1024, "prefetch", "1 to 1024", o.prefetch);
  require(o.checkpoint_minutes >= 0 && std::isfinite(o.checkpoint_minutes), "checkpoint-minutes",
          "0 or more", o.checkpoint_minutes);
  require(o.lr > 0 && std::isfinite(o.lr), "lr", "positive", o.lr);
  require(o.lr_min >= 0 && o.lr_min <= o.lr, "lr-min", fmt::format("0 to lr, {}", o.lr), o.lr_min);
  require(o.warmup_epochs >= 0 && o.warmup_epochs <= double(o.epochs), "warmup-epochs",
          fmt::format("0 to the number of epochs, {}", o.epochs), o.warmup_epochs);
  require(o.warmup_epochs == 0 || o.lr_schedule != LrSchedule::onecycle, "warmup-epochs",
          "0 with the schedule onecycle, which has its own warm-up", o.warmup_epochs);
  require(o.warmup_start >= 0 && o.warmup_start <= 1, "warmup-start", "0 to 1", o.warmup_start);
  require(o.lr_power > 0 && std::isfinite(o.lr_power), "lr-power", "positive", o.lr_power);
  require(o.lr_step_epochs >= 1, "lr-step-epochs", "at least 1", o.lr_step_epochs);
  require(o.lr_gamma > 0 && o.lr_gamma <= 1, "lr-gamma", "more than 0 and at most 1", o.lr_gamma);
  require(o.momentum >= 0 && o.momentum < 1, "momentum", "0 or more and less than 1", o.momentum);
  require(!o.nesterov || o.momentum > 0, "momentum", "more than 0 with nesterov", o.momentum);
  require(!o.nesterov || o.optimizer == OptimizerKind::sgd, "optimizer", "sgd with nesterov",
          to_string(o.optimizer));
  require(o.adam_beta1 >= 0 && o.adam_beta1 < 1 && o.adam_beta2 >= 0 && o.adam_beta2 < 1,
          "adam-betas", "two numbers, each 0 or more and less than 1",
          fmt::format("{} {}", o.adam_beta1, o.adam_beta2));
  require(o.adam_eps > 0 && std::isfinite(o.adam_eps), "adam-eps", "positive", o.adam_eps);
  require(o.lars_trust > 0 && std::isfinite(o.lars_trust), "lars-trust", "positive", o.lars_trust);
  require(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "weight-decay", "0 or more",
          o.weight_decay);
  require(o.clip_grad_norm >= 0 && std::isfinite(o.clip_grad_norm), "clip-grad-norm",
          "positive, or 0 for none", o.clip_grad_norm);
  require(o.ema_decay >= 0 && o.ema_decay < 1, "ema-decay", "0 or more and less than 1",
          o.ema_decay);
  require(o.ema_steps >= 1, "ema-steps", "at least 1", o.ema_steps);
  require(o.label_smoothing >= 0 && o.label_smoothing < 1, "label-smoothing",
          "0 or more and less than 1", o.label_smoothing);
  // Checkpoints and config.toml hold them as text.
  for (const auto& [name, path] : {std::pair("data", &o.data), std::pair("work-dir", &o.work_dir),
                                   std::pair("pretrained", &o.pretrained)}) {
    require(is_utf8(path->string()), name, "a path of UTF-8 text", printable(path->string()));
  }
  require(o.threads >= 0, "threads", "0 or more", o.threads);
  require(o.max_record_bytes >= 1, "max-record", "at least 1", o.max_record_bytes);
  require(o.compute_threads >= 0, "compute-threads", "0 or more", o.compute_threads);
  require(o.limit_batches >= 0, "limit-batches", "0 or more", o.limit_batches);
  require(o.log_every >= 1, "log-every", "at least 1", o.log_every);
  require(o.keep_checkpoints >= 0, "keep-checkpoints", "0 or more", o.keep_checkpoints);
}

}  // namespace ffkit
