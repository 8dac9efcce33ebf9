#include <cmath>

#include <ffkit/trainer/train_options.h>

#include "base/enum_names.h"
#include "base/make_error.h"

namespace ffkit {
constexpr EnumName<Amp> kAmpNames[] = {{Amp::off, "off"}, {Amp::bf16, "bf16"}, {Amp::fp16, "fp16"},
                                       {Amp::off, "O0"},  {Amp::fp16, "O1"},   {Amp::fp16, "O2"}};
std::string_view to_string(Amp amp) {
  return name_of(kAmpNames, amp);
}

Amp parse_amp(std::string_view name) {
  return value_of(kAmpNames, name, "--amp");
}

constexpr EnumName<OnBadSample> kOnBadSampleNames[] = {{OnBadSample::fail, "fail"},
                                                       {OnBadSample::skip, "skip"}};
std::string_view to_string(OnBadSample policy) {
  return name_of(kOnBadSampleNames, policy);
}

OnBadSample parse_on_bad_sample(std::string_view name) {
  return value_of(kOnBadSampleNames, name, "--bad-samples");
}

constexpr EnumName<SampleOrder> kSampleOrderNames[] = {{SampleOrder::automatic, "automatic"},
                                                       {SampleOrder::shuffle, "shuffle"},
                                                       {SampleOrder::windowed, "windowed"}};
std::string_view to_string(SampleOrder order) {
  return name_of(kSampleOrderNames, order);
}

SampleOrder parse_sample_order(std::string_view name) {
  return value_of(kSampleOrderNames, name, "--order");
}

constexpr EnumName<LrScaling> kLrScalingNames[] = {
    {LrScaling::none, "none"}, {LrScaling::linear, "linear"}, {LrScaling::sqrt, "sqrt"}};
std::string_view to_string(LrScaling scaling) {
  return name_of(kLrScalingNames, scaling);
}

LrScaling parse_lr_scaling(std::string_view name) {
  return value_of(kLrScalingNames, name, "--lr-scaling");
}

constexpr EnumName<LrSchedule> kLrScheduleNames[] = {{LrSchedule::cosine, "cosine"},
                                                     {LrSchedule::step, "step"},
                                                     {LrSchedule::polynomial, "polynomial"},
                                                     {LrSchedule::onecycle, "onecycle"},
                                                     {LrSchedule::constant, "constant"}};
std::string_view to_string(LrSchedule schedule) {
  return name_of(kLrScheduleNames, schedule);
}

LrSchedule parse_lr_schedule(std::string_view name) {
  return value_of(kLrScheduleNames, name, "lr schedule");
}

constexpr EnumName<OptimizerKind> kOptimizerKindNames[] = {
    {OptimizerKind::sgd, "sgd"}, {OptimizerKind::adamw, "adamw"}, {OptimizerKind::lars, "lars"}};
std::string_view to_string(OptimizerKind kind) {
  return name_of(kOptimizerKindNames, kind);
}

OptimizerKind parse_optimizer(std::string_view name) {
  return value_of(kOptimizerKindNames, name, "optimizer");
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
      throw error_of(ErrorCode::invalid_argument,
                     "global-batch-size is {}, which {} processes with {} batches a step cannot "
                     "share evenly; give a multiple of {}",
                     global_batch_size, world_size, accumulate, shares);
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
