#include "tasks/classification/accuracy_meter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace ffkit {

void AccuracyMeter::add(const at::Tensor& logits, const at::Tensor& labels) {
  const int64_t k = std::min<int64_t>(5, logits.size(1));
  const at::Tensor best = std::get<1>(at::topk(logits, k, /*dim=*/1));
  const at::Tensor right = best.eq(labels.unsqueeze(1));
  const at::Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum);
  // Counts below 2^53 are exact.
  const auto f64 = loss.options().dtype(at::kDouble);
  const at::Tensor sums =
      at::stack({at::full({}, labels.size(0), f64), right.select(1, 0).sum().to(at::kDouble),
                 right.sum().to(at::kDouble), loss.to(at::kDouble)});
  sums_ = sums_.defined() ? sums_ + sums : sums;
}

void AccuracyMeter::sum_over(Peers& peers) {
  // A process may have had no batch.
  sums_ = sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble);
  peers.sum(sums_);
}

EvalResult AccuracyMeter::result() const {
  const at::Tensor sums = sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble);
  const double* sum = sums.const_data_ptr<double>();
  const double n = std::max(1.0, sum[0]);
  return {.count = int64_t(sum[0]),
          .metrics = {{"loss", sum[3] / n}, {"top1", sum[1] / n}, {"top5", sum[2] / n}}};
}

}  // namespace ffkit
