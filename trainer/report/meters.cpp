#include "report/meters.h"

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

void AccuracyMeter::sum_over(Communicator& communicator) {
  // A process may have had no batch.
  sums_ = sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble);
  communicator.sum(sums_);
}

EvalResult AccuracyMeter::result() const {
  if (!sums_.defined()) return {};
  const at::Tensor sums = sums_.cpu();
  const double* sum = sums.const_data_ptr<double>();
  const double n = std::max(1.0, sum[0]);
  return {
      .num_images = int64_t(sum[0]), .loss = sum[3] / n, .top1 = sum[1] / n, .top5 = sum[2] / n};
}

void ThroughputMeter::add_step(int64_t num_images, double seconds, double wait_seconds) {
  if (++num_steps_ <= kWarmupSteps) return;
  num_images_ += num_images;
  seconds_ += seconds;
  wait_seconds_ += wait_seconds;
}

double ThroughputMeter::images_per_second() const {
  return seconds_ > 0 ? double(num_images_) / seconds_ : 0;
}

double ThroughputMeter::wait_share() const {
  return seconds_ > 0 ? wait_seconds_ / seconds_ : 0;
}

}  // namespace ffkit
