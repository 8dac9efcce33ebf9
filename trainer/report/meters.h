// Meters: what a run reports. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include <ffkit/trainer/eval_result.h>

#include "distributed/communicator.h"

namespace ffkit {

// Exact sums over a split: every sample counts once, whatever the sizes of the batches.
class AccuracyMeter {
 public:
  // `logits` [N,C] f32, `labels` [N] i64. A sample is right in top-k when its label is among the k largest logits.
  void add(const at::Tensor& logits, const at::Tensor& labels);
  // Adds up what all processes have seen; collective.
  void sum_over(Communicator& communicator);
  EvalResult result() const;

 private:
  // [4] f64: pictures, right in top-1, right in top-5, loss; on the device of the logits, so that nobody waits for it; undefined at first.
  at::Tensor sums_;
};

// Speed of training. The first kWarmupSteps steps are left out: they fill pools and caches.
class ThroughputMeter {
 public:
  static constexpr int64_t kWarmupSteps = 5;

  // A step over `num_images` took `seconds` in all, `wait_seconds` of them waiting for the loader.
  void add_step(int64_t num_images, double seconds, double wait_seconds);
  double images_per_second() const;  // 0 before anything was measured
  double wait_share() const;         // 0 .. 1; 0 before anything was measured

 private:
  int64_t num_steps_ = 0;
  int64_t num_images_ = 0;
  double seconds_ = 0;
  double wait_seconds_ = 0;
};

}  // namespace ffkit
