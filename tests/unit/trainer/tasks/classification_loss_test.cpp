#include "tasks/classification/classification_loss.h"

#include <ATen/Context.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace ffkit {
namespace {

TEST(ClassificationLoss, IsTheCrossEntropyOfTheMixedAndSmoothedLabels) {
  at::manual_seed(1);
  const at::Tensor logits = at::randn({4, 5});
  const at::Tensor labels = at::tensor({3, 0, 4, 1}, at::kLong);
  const at::Tensor before = at::tensor({1, 3, 0, 4}, at::kLong);  // of the picture before each
  for (const double lambda : {1.0, 0.7, 0.0}) {
    for (const double smoothing : {0.0, 0.1}) {
      const at::Tensor mixed = at::one_hot(labels, 5)
                                   .mul(lambda)
                                   .add(at::one_hot(before, 5).mul(1 - lambda))
                                   .mul(1 - smoothing)
                                   .add(smoothing / 5);
      const double expected =
          -at::log_softmax(logits, 1).mul(mixed).sum().item<double>() / double(4);
      EXPECT_NEAR(classification_loss(logits, labels, lambda, smoothing).item<double>(), expected,
                  1e-5)
          << lambda << " " << smoothing;
    }
  }
}

}  // namespace
}  // namespace ffkit
