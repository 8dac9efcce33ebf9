// AccuracyMeter: loss and top-1 and top-5 accuracy of a split. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/task.h>

namespace ffkit {

// Exact sums over a split: every sample counts once, whatever the sizes of the batches.
class AccuracyMeter {
 public:
  // `logits` [N,C] f32, `labels` [N] i64. A sample is right in top-k when its label is among the k
  // largest logits; with fewer than k classes, all of them.
  void add(const at::Tensor& logits, const at::Tensor& labels);
  // Adds up what all processes have seen; collective.
  void sum_over(Peers& peers);
  // "loss": mean cross entropy, without label smoothing; "top1", "top5": shares of the pictures, 0
  // .. 1.
  EvalResult result() const;

 private:
  // [4] f64: pictures, right in top-1, right in top-5, loss; on the device of the logits, so that
  // nobody waits for it; undefined at first.
  at::Tensor sums_;
};

}  // namespace ffkit
