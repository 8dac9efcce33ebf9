// How fast the parts of training are, each alone: where the bottleneck is.
#pragma once

#include <ffkit/trainer/trainer.h>

namespace ffkit {

// What --benchmark runs on one batch of noise.
enum class BenchmarkMode {
  forward,  // evaluation: the forward pass alone
  step,     // training: forward, backward and update
};

// Units of the task (images, tokens) a second over all processes; the first five steps are left
// out. `limit_batches` of the options is the number of steps that are measured, 20 when it is 0.
// Each is called by every process of `place`'s world, and prints one line on rank 0.

// The model alone.
double measure_model(const TrainOptions& options, BenchmarkMode mode,
                     const ProgressOutput& output = {}, const ProcessPlace& place = {});

// The training loader alone, as fast as it can: read, decoded and augmented, copied to the device.
// Also says what limits it.
double measure_loader(const TrainOptions& options, const ProgressOutput& output = {},
                      const ProcessPlace& place = {});

struct Bottleneck {
  double loader = 0;           // units/s of the loader alone
  double model = 0;            // of training steps without data
  double both = 0;             // of training
  double data_wait_share = 0;  // of training's time, 0 .. 1
};

// All three, and one line on which of them is the limit.
Bottleneck measure_bottleneck(const TrainOptions& options, const ProgressOutput& output = {},
                              const ProcessPlace& place = {});

}  // namespace ffkit
