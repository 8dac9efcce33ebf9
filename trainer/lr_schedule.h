// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Learning rate of step `step` (0-based, over all epochs), with `steps_per_epoch` >= 1 steps in
// each epoch.
//
//   warm-up, s < W = warmup_epochs * steps_per_epoch:  lr * (s + 1) / W
//   cosine, of T = epochs * steps_per_epoch steps:     lr / 2 * (1 + cos(pi * (s - W) / (T - W)))
//   step, e = s / steps_per_epoch rounded down:        lr * lr_gamma ^ (e / lr_step_epochs rounded
//   down)
double learning_rate(const TrainOptions& options, int64_t steps_per_epoch, int64_t step);

}  // namespace ffkit
