#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tasks/classification/classification_loss.h"

namespace ffkit {
namespace {

at::Tensor labels(std::vector<int64_t> values) {
  return at::tensor(at::ArrayRef<int64_t>(values));
}

at::Tensor rows(std::vector<float> values, int64_t columns) {
  return at::tensor(at::ArrayRef<float>(values)).view({-1, columns});
}

TEST(AccuracyMeter, CountsSamplesAndNotBatches) {
  AccuracyMeter meter;
  // Six classes; the label's logit is the largest, the fifth and the sixth.
  meter.add(rows({9, 5, 4, 3, 2, 1, 9, 5, 4, 3, 2, 1, 9, 5, 4, 3, 2, 1}, 6), labels({0, 4, 5}));
  meter.add(rows({0, 1, 2, 3, 4, 5}, 6), labels({5}));
  const EvalResult result = meter.result();
  EXPECT_EQ(result.count, 4);
  EXPECT_DOUBLE_EQ(result.value("top1"), 0.5);
  EXPECT_DOUBLE_EQ(result.value("top5"), 0.75);
}

TEST(AccuracyMeter, AveragesTheLossOverSamples) {
  AccuracyMeter meter;
  meter.add(rows({0, 0, 0, 0}, 2), labels({0, 1}));
  meter.add(rows({std::log(3.0F), 0}, 2), labels({1}));  // -log(1/4)
  EXPECT_NEAR(meter.result().value("loss"), (2 * std::log(2.0) + std::log(4.0)) / 3, 1e-6);
}

TEST(AccuracyMeter, TakesAllClassesAsTop5WhenThereAreFewer) {
  AccuracyMeter meter;
  meter.add(rows({1, 0, 0}, 3), labels({2}));
  EXPECT_DOUBLE_EQ(meter.result().value("top1"), 0);
  EXPECT_DOUBLE_EQ(meter.result().value("top5"), 1);
}

}  // namespace
}  // namespace ffkit
