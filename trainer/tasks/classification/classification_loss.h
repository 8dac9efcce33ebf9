// The loss that training minimises.
#pragma once

#include <ATen/core/Tensor.h>

namespace ffkit {

// Mean cross entropy of `logits` [N,C] and `labels` [N] i64, with label smoothing 0 <= s < 1: every
// class gets s / C of the weight, the label 1 - s on top. After MixUp or CutMix (`mix_lambda` < 1,
// see Batch::mix_lambda) each picture counts for two labels, its own and that of the one before it
// in the batch (the first: the last): mix_lambda * loss(labels) + (1 - mix_lambda) * loss(labels
// rolled by one). `class_weights` [C] f32, or undefined: each sample counts as much as its class
// weighs, and the mean is over these weights, as in torch.nn.CrossEntropyLoss(weight=...).
at::Tensor classification_loss(const at::Tensor& logits, const at::Tensor& labels,
                               double mix_lambda, double label_smoothing,
                               const at::Tensor& class_weights = {});

}  // namespace ffkit
