// Measures loader and model, each alone, to find the bottleneck of training.
#pragma once

#include <ffkit/trainer/trainer.h>

namespace ffkit {

// What --benchmark runs on one batch of noise.
enum class BenchmarkMode {
  forward,  // the forward pass of an evaluation
  step,     // a step of training: forward, backward and update
};

// Results are the task's units (images, tokens) a second over all processes, without the first five
// steps. options.limit_batches is the number of measured steps; 0: 20. All processes of `place`'s
// world call these functions. Rank 0 prints a line for each.

// The model alone.
double measure_model(const TrainOptions& options, BenchmarkMode mode,
                     const ProgressOutput& output = {}, const ProcessPlace& place = {});

// The training loader alone: it reads, decodes, augments and copies to the device as fast as it
// can. The line also says what limits it.
double measure_loader(const TrainOptions& options, const ProgressOutput& output = {},
                      const ProcessPlace& place = {});

struct Bottleneck {
  double loader = 0;           // units a second of the loader alone
  double model = 0;            // units a second of training steps without data
  double both = 0;             // units a second of training
  double data_wait_share = 0;  // share of training's time, 0 .. 1
};

// All three. A last line says which one is the limit.
Bottleneck measure_bottleneck(const TrainOptions& options, const ProgressOutput& output = {},
                              const ProcessPlace& place = {});

}  // namespace ffkit
