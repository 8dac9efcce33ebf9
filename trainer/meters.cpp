#include "meters.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
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
  const at::Tensor sums = at::stack({right.select(1, 0).sum().to(at::kDouble),
                                     right.sum().to(at::kDouble), loss.to(at::kDouble)});
  num_images_ += labels.size(0);
  sums_ = sums_.defined() ? sums_ + sums : sums;
}

void AccuracyMeter::sum_over(Communicator& communicator) {
  // A process may have had no batch.
  if (!sums_.defined()) sums_ = at::zeros({3}, at::kDouble);
  sums_ = sums_.cpu();
  communicator.sum(sums_);
  num_images_ = int64_t(communicator.sum(std::vector<double>{double(num_images_)})[0]);
}

EvalResult AccuracyMeter::result() const {
  if (num_images_ == 0) return {};
  const at::Tensor sums = sums_.cpu();
  const double* sum = sums.const_data_ptr<double>();
  const auto n = double(num_images_);
  return {.num_images = num_images_, .loss = sum[2] / n, .top1 = sum[0] / n, .top5 = sum[1] / n};
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
