#include <fmt/format.h>

#include <cmath>

#include <ffkit/format/error.h>
#include <ffkit/trainer/train_options.h>

#include "model_registry.h"

namespace ffkit {
namespace {

void require(bool holds, const char* option, const std::string& range, const auto& got) {
  if (holds) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} must be {}, but it is {}", option, range, got));
}

}  // namespace

std::string_view to_string(LrSchedule schedule) {
  return schedule == LrSchedule::cosine ? "cosine" : "step";
}

LrSchedule parse_lr_schedule(std::string_view name) {
  for (LrSchedule schedule : {LrSchedule::cosine, LrSchedule::step}) {
    if (name == to_string(schedule)) return schedule;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no lr schedule '{}'; there are cosine and step", name));
}

int64_t TrainOptions::resolved_eval_resize() const {
  return eval_resize > 0 ? eval_resize : std::llround(double(image_size) * 256.0 / 224.0);
}

void validate(const TrainOptions& o) {
  ModelRegistry::instance().find(o.arch);
  // Comparisons are written so that NaN fails them.
  require(o.image_size >= 1 && o.image_size <= 16384, "image-size", "1 to 16384", o.image_size);
  require(o.crop_scale_min > 0 && o.crop_scale_min <= o.crop_scale_max && o.crop_scale_max <= 1,
          "crop-scale", "two numbers with 0 < MIN <= MAX <= 1",
          fmt::format("{} {}", o.crop_scale_min, o.crop_scale_max));
  require(o.eval_resize >= 0, "eval-resize", "at least 1, or 0 for the default", o.eval_resize);
  require(o.epochs >= 1, "epochs", "at least 1", o.epochs);
  require(o.batch_size >= 1, "batch-size", "at least 1", o.batch_size);
  require(o.lr > 0 && std::isfinite(o.lr), "lr", "positive", o.lr);
  require(o.warmup_epochs >= 0 && o.warmup_epochs <= o.epochs, "warmup-epochs",
          fmt::format("0 to the number of epochs, {}", o.epochs), o.warmup_epochs);
  require(o.lr_step_epochs >= 1, "lr-step-epochs", "at least 1", o.lr_step_epochs);
  require(o.lr_gamma > 0 && o.lr_gamma <= 1, "lr-gamma", "more than 0 and at most 1", o.lr_gamma);
  require(o.momentum >= 0 && o.momentum < 1, "momentum", "0 or more and less than 1", o.momentum);
  require(!o.nesterov || o.momentum > 0, "momentum", "more than 0 with nesterov", o.momentum);
  require(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "weight-decay", "0 or more",
          o.weight_decay);
  require(o.label_smoothing >= 0 && o.label_smoothing < 1, "label-smoothing",
          "0 or more and less than 1", o.label_smoothing);
  require(o.threads >= 0, "threads", "0 or more", o.threads);
  require(o.compute_threads >= 0, "compute-threads", "0 or more", o.compute_threads);
  require(o.limit_batches >= 0, "limit-batches", "0 or more", o.limit_batches);
  require(o.keep_checkpoints >= 0, "keep-checkpoints", "0 or more", o.keep_checkpoints);
}

}  // namespace ffkit
