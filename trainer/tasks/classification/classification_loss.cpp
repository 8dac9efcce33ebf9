#include "tasks/classification/classification_loss.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/roll.h>

#include <optional>

namespace ffkit {

at::Tensor classification_loss(const at::Tensor& logits, const at::Tensor& labels,
                               double mix_lambda, double label_smoothing,
                               const at::Tensor& class_weights) {
  std::optional<at::Tensor> weight;
  if (class_weights.defined()) weight = class_weights;
  const auto loss = [&](const at::Tensor& wanted) {
    return at::cross_entropy_loss(logits, wanted, weight, at::Reduction::Mean,
                                  /*ignore_index=*/-100, label_smoothing);
  };
  if (mix_lambda == 1) return loss(labels);
  return loss(labels).mul(mix_lambda).add(loss(at::roll(labels, 1, 0)), 1 - mix_lambda);
}

}  // namespace ffkit
