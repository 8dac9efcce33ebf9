// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Steps of the whole run: `steps`, or all of `epochs` with steps_per_epoch >= 1.
int64_t total_steps(const TrainOptions& options, int64_t steps_per_epoch);

// Steps of the warm-up, not rounded: warmup_steps, or warmup_epochs * steps_per_epoch.
double num_warmup_steps(const TrainOptions& options, int64_t steps_per_epoch);

// Learning rate of step `s` = `step` (0-based, over all epochs), with T = total_steps(), W =
// num_warmup_steps() of them warming up.
//
// As torch's SequentialLR of LinearLR and the scheduler that is named on the right:
//
//   warm-up, s < W:   lr * (f + (1 - f) * s / W), f = warmup_start           LinearLR
//
// and then, with p = (s - W) / (T - W):
//
//   cosine:           lr_min + (lr - lr_min) / 2 * (1 + cos(pi * p))          CosineAnnealingLR
//   polynomial:       lr_min + (lr - lr_min) * (1 - p) ^ lr_power             PolynomialLR, whose
//                                                                             lr_min is 0
//   step:             lr * lr_gamma ^ floor((s - ceil(W)) / D),               StepLR, from the end
//                     D = lr_step_epochs * steps_per_epoch or lr_step_steps   of the warm-up
//   constant:         lr
//
// onecycle has its own warm-up and no other. As OneCycleLR with cosine annealing and its defaults:
// half a cosine from lr / 25 to lr over the steps 0 .. 0.3 T - 1, then half a cosine to lr /
// 250,000 in step T - 1.
double learning_rate(const TrainOptions& options, int64_t steps_per_epoch, int64_t step);

}  // namespace ffkit
