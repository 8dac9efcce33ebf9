#include "optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ffkit {
namespace {

// Half a cosine from `start` (progress 0) to `end` (progress 1).
double anneal(double start, double end, double progress) {
  return end + (start - end) / 2 * (1 + std::cos(std::numbers::pi * progress));
}

// torch/optim/lr_scheduler.py: pct_start = 0.3, div_factor = 25, final_div_factor = 1e4.
double one_cycle(double lr, double total, double step) {
  const double start = lr / 25;
  const double peak_step = 0.3 * total - 1;
  if (step <= peak_step) return anneal(start, lr, peak_step > 0 ? step / peak_step : 1);
  return anneal(lr, start / 1e4, (step - peak_step) / (total - 1 - peak_step));
}

}  // namespace

int64_t total_steps(const TrainOptions& o, int64_t steps_per_epoch) {
  return o.steps > 0 ? o.steps : o.epochs * steps_per_epoch;
}

double num_warmup_steps(const TrainOptions& o, int64_t steps_per_epoch) {
  return o.warmup_steps > 0 ? o.warmup_steps : o.warmup_epochs * steps_per_epoch;
}

double learning_rate(const TrainOptions& o, int64_t steps_per_epoch, int64_t step) {
  const double total = total_steps(o, steps_per_epoch);
  const double s = step;
  if (o.lr_schedule == LrSchedule::onecycle) return one_cycle(o.lr, total, s);
  const double warmup = num_warmup_steps(o, steps_per_epoch);
  if (s < warmup) return o.lr * (o.warmup_start + (1 - o.warmup_start) * s / warmup);
  // A warm-up of the whole run leaves no steps for what comes after it.
  const double progress = total > warmup ? std::min(1.0, (s - warmup) / (total - warmup)) : 1.0;
  // The first step after the warm-up is StepLR's first one, as SequentialLR counts.
  const int64_t steps_after = step - static_cast<int64_t>(std::ceil(warmup));
  const int64_t drop_every =
      o.lr_step_steps > 0 ? o.lr_step_steps : o.lr_step_epochs * steps_per_epoch;
  switch (o.lr_schedule) {
    case LrSchedule::polynomial:
      return o.lr_min + (o.lr - o.lr_min) * std::pow(1 - progress, o.lr_power);
    case LrSchedule::step:
      return o.lr * std::pow(o.lr_gamma, steps_after / drop_every);
    case LrSchedule::constant:
      return o.lr;
    case LrSchedule::cosine:
    case LrSchedule::onecycle:
      break;
  }
  return anneal(o.lr, o.lr_min, progress);
}

}  // namespace ffkit
