// The loss that training minimises.
#pragma once

#include <ATen/core/Tensor.h>

namespace ffkit {

// Mean cross entropy of `logits` [N,C] and `labels` [N] i64, with label smoothing 0 <= s < 1: every class gets s / C of the weight, the label 1 - s on top.
// After MixUp or CutMix (`mix_lambda` < 1, see Batch::mix_lambda) each picture counts for two labels, its own and that of the one before it
// in the batch (the first: the last): mix_lambda * loss(labels) + (1 - mix_lambda) * loss(labels rolled by one).
at::Tensor classification_loss(const at::Tensor& logits, const at::Tensor& labels,
                               double mix_lambda, double label_smoothing);

}  // namespace ffkit
