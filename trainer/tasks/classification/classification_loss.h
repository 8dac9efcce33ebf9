// The loss that the training of a classifier minimises, and how good it is.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/task.h>

namespace ffkit {

// Mean cross entropy of `logits` [N,C] and `labels` [N] i64, with label smoothing 0 <= s < 1: every
// class gets s / C of the weight, the label 1 - s on top. After MixUp or CutMix (`mix_lambda` < 1,
// see Batch::mix_lambda) each picture counts for two labels, its own and that of the one before it
// in the batch (the first: the last): mix_lambda * loss(labels) + (1 - mix_lambda) * loss(labels
// rolled by one). `class_weights` [C] f32, or undefined: each sample counts as much as its class
// weighs. What torch.nn.CrossEntropyLoss(weight=...) gives is this divided by the mean weight of
// the labels, which is the run's (Task::loss_weight).
at::Tensor classification_loss(const at::Tensor& logits, const at::Tensor& labels,
                               double mix_lambda, double label_smoothing,
                               const at::Tensor& class_weights = {});

// The weights of classes in the loss.
//
// [C] f32. `choice`: "balanced", or a file: lines of a class and its weight, with spaces, a tab or
// a comma between them, or a JSON object. Balanced weights are n / (C * n_c) of the n_c of all n
// `labels`, as scikit-learn's compute_class_weight; 0 for a class without any. Throws
// Error(invalid_argument) for a file that has not each class once with a weight that is finite and
// 0 or more, or nothing but 0; Error(not_found), Error(io).
at::Tensor class_weights(const std::string& choice, const std::vector<std::string>& classes,
                         const std::vector<int64_t>& labels);

// AccuracyMeter: loss and top-1 and top-5 accuracy of a split. Not thread-safe.
//
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
