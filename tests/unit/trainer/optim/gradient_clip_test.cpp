#include <ATen/Context.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include "optim/gradients.h"

namespace ffkit {
namespace {

NamedTensor parameter_with(const at::Tensor& gradient) {
  NamedTensor p{"p", at::zeros(gradient.sizes()).requires_grad_(true)};
  p.tensor.mutable_grad() = gradient;
  return p;
}

TEST(ClipGradientNorm, EqualsTorch) {
  at::manual_seed(5);
  for (const double max_norm : {0.5, 3.0, 1000.0}) {
    std::vector<NamedTensor> ours;
    std::vector<at::Tensor> theirs;
    for (const at::Tensor& g : {at::randn({3, 4}), at::randn({7}), at::randn({2, 3, 2, 2})}) {
      ours.push_back(parameter_with(g.clone()));
      theirs.push_back(parameter_with(g.clone()).tensor);
    }
    const double norm = clip_gradient_norm(ours, max_norm).item<double>();
    EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_(theirs, max_norm), 1e-5);
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_TRUE(ours[i].tensor.grad().allclose(theirs[i].grad(), 1e-6, 1e-7));
    }
  }
}

TEST(ClipGradientNorm, KeepsSmallGradientsToTheBit) {
  const at::Tensor g = at::ones({4});
  const std::vector<NamedTensor> parameters = {parameter_with(g.clone())};
  EXPECT_EQ(clip_gradient_norm(parameters, 10).item<double>(), 2);
  EXPECT_TRUE(parameters[0].tensor.grad().equal(g));
}

TEST(ClipGradientNorm, ScalesGradientsThatAreViewsInPlace) {
  const at::Tensor bucket = at::ones({8});
  const std::vector<NamedTensor> parameters = {parameter_with(bucket.narrow(0, 0, 4)),
                                               {"unused", at::zeros({2})}};
  clip_gradient_norm(parameters, 1);
  EXPECT_NEAR(bucket[0].item<double>(), 0.5, 1e-6);
  EXPECT_EQ(bucket[4].item<double>(), 1);
}

TEST(ClipGradientNorm, IsZeroWithoutGradients) {
  EXPECT_EQ(clip_gradient_norm({{"p", at::zeros({2})}}, 1).item<double>(), 0);
}

}  // namespace
}  // namespace ffkit
