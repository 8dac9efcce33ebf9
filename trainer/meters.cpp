#include "meters.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/topk.h>

#include <algorithm>

namespace ffkit {

void AccuracyMeter::add(const at::Tensor& logits, const at::Tensor& labels) {
  const int64_t k = std::min<int64_t>(5, logits.size(1));
  const at::Tensor best = std::get<1>(at::topk(logits, k, /*dim=*/1));
  const at::Tensor right = best.eq(labels.unsqueeze(1));
  num_images_ += labels.size(0);
  num_top1_ += right.select(1, 0).sum().item<int64_t>();
  num_top5_ += right.sum().item<int64_t>();
  loss_sum_ += at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).item<double>();
}

void AccuracyMeter::sum_over(Communicator& communicator) {
  // Counts below 2^53 are exact.
  const std::vector<double> sums = communicator.sum(
      std::vector<double>{double(num_images_), double(num_top1_), double(num_top5_), loss_sum_});
  num_images_ = int64_t(sums[0]);
  num_top1_ = int64_t(sums[1]);
  num_top5_ = int64_t(sums[2]);
  loss_sum_ = sums[3];
}

EvalResult AccuracyMeter::result() const {
  const double n = double(std::max<int64_t>(1, num_images_));
  return {.num_images = num_images_,
          .loss = loss_sum_ / n,
          .top1 = double(num_top1_) / n,
          .top5 = double(num_top5_) / n};
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
