#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "optim/update_rules.h"

namespace ffkit {
namespace {

std::vector<ParameterGroup> group(std::vector<NamedTensor> parameters, double weight_decay = 0) {
  return {{.parameters = std::move(parameters), .weight_decay = weight_decay}};
}

at::Tensor weight(std::vector<float> values) {
  return at::tensor(at::ArrayRef<float>(values)).requires_grad_(true);
}

void set_gradient(at::Tensor& w, std::vector<float> values) {
  w.mutable_grad() = at::tensor(at::ArrayRef<float>(values));
}

TEST(Sgd, FollowsItsFormulaOverTwoSteps) {
  at::Tensor w = weight({1, -2});
  Sgd sgd(group({{"w", w}}, 0.1), {.momentum = 0.9});
  set_gradient(w, {0.5, 1});
  sgd.step(0.1);  // g = {0.6, 0.8}, v = g
  EXPECT_NEAR(w[0].item<double>(), 1 - 0.06, 1e-6);
  EXPECT_NEAR(w[1].item<double>(), -2 - 0.08, 1e-6);
  set_gradient(w, {0, 0});
  sgd.step(0.2);  // g = {0.094, -0.208}, v = 0.9 * {0.6, 0.8} + g
  EXPECT_NEAR(w[0].item<double>(), 0.94 - 0.2 * 0.634, 1e-6);
  EXPECT_NEAR(w[1].item<double>(), -2.08 - 0.2 * 0.512, 1e-6);
  EXPECT_NEAR(sgd.state()[0].tensor[0].item<double>(), 0.634, 1e-6);
}

TEST(Sgd, LooksAheadWithNesterov) {
  at::Tensor w = weight({1});
  Sgd sgd(group({{"w", w}}), {.momentum = 0.5, .nesterov = true});
  set_gradient(w, {1});
  sgd.step(0.1);  // v = 1, update = 1 + 0.5
  EXPECT_NEAR(w[0].item<double>(), 0.85, 1e-6);
}

TEST(Sgd, KeepsNoVelocityWithoutMomentum) {
  at::Tensor w = weight({1});
  Sgd sgd(group({{"w", w}}), {.momentum = 0});
  set_gradient(w, {2});
  sgd.step(0.1);
  sgd.step(0.1);
  EXPECT_NEAR(w[0].item<double>(), 0.6, 1e-6);
  EXPECT_TRUE(sgd.state().empty());
}

TEST(Sgd, LeavesParametersWithoutGradientAlone) {
  at::Tensor a = weight({1});
  at::Tensor b = weight({1});
  Sgd sgd(group({{"a", a}, {"b", b}}, 0.5), {.momentum = 0.9});
  set_gradient(b, {1});
  sgd.step(0.1);
  EXPECT_EQ(a[0].item<double>(), 1);
  EXPECT_NEAR(b[0].item<double>(), 0.85, 1e-6);
  sgd.zero_grad();
  EXPECT_FALSE(b.grad().defined());
}

TEST(Sgd, TreatsBothMemoryFormatsAlike) {
  const at::Tensor start = at::arange(48, at::kFloat).view({2, 3, 4, 2});
  std::vector<at::Tensor> results;
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    at::Tensor w = start.clone(format).requires_grad_(true);
    w.mutable_grad() = start.mul(0.25).contiguous(format);
    Sgd sgd(group({{"w", w}}, 0.125), {.momentum = 0.5, .nesterov = true});
    sgd.step(0.5);
    sgd.step(0.5);
    EXPECT_TRUE(w.is_contiguous(format));
    results.push_back(w.detach());
  }
  EXPECT_TRUE(results[0].equal(results[1]));
  EXPECT_FALSE(results[0].equal(start));
}

TEST(Sgd, UpdatesElementByElementWhenGradientHasAnotherMemoryFormat) {
  at::Tensor w = at::zeros({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  w.requires_grad_(true);
  const at::Tensor g = at::arange(24, at::kFloat).view({2, 3, 2, 2});
  w.mutable_grad() = g;
  Sgd sgd(group({{"w", w}}), {.momentum = 0.9});
  sgd.step(1);
  EXPECT_TRUE(w.detach().equal(g.neg()));
}

}  // namespace
}  // namespace ffkit
