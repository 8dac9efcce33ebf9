#include "lr_schedule.h"

#include <cmath>
#include <numbers>

namespace ffkit {

double learning_rate(const TrainOptions& o, int64_t steps_per_epoch, int64_t step) {
  const int64_t warmup = o.warmup_epochs * steps_per_epoch;
  if (step < warmup) return o.lr * double(step + 1) / double(warmup);
  if (o.lr_schedule == LrSchedule::step) {
    const int64_t epoch = step / steps_per_epoch;
    return o.lr * std::pow(o.lr_gamma, double(epoch / o.lr_step_epochs));
  }
  const int64_t total = o.epochs * steps_per_epoch;
  const double progress = double(step - warmup) / double(total - warmup);
  return 0.5 * o.lr * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace ffkit
