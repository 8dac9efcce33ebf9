#include <fmt/format.h>

#include <cmath>
#include <utility>

#include <ffkit/format/error.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {
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

std::string_view to_string(OnBadSample policy) {
  return policy == OnBadSample::fail ? "fail" : "skip";
}

OnBadSample parse_on_bad_sample(std::string_view name) {
  for (const OnBadSample policy : {OnBadSample::fail, OnBadSample::skip}) {
    if (name == to_string(policy)) return policy;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("there is no --bad-samples '{}'; there are fail and skip", name));
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

const std::string& TrainOptions::task_name() const {
  static const std::string first = kFirstTask;
  return task.empty() ? first : task;
}

void refuse_other_task_options() {
  throw Error(ErrorCode::invalid_argument,
              "the options are those of another task; set the options of the task that is trained");
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

}  // namespace ffkit
