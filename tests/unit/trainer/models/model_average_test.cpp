#include "model/model_average.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "support/fake_model.h"

namespace ffkit {
namespace {

struct Sample {
  at::Tensor weight = at::tensor({1.0F, 2.0F}).requires_grad_(true);
  at::Tensor mean = at::tensor({4.0F});
  at::Tensor count = at::full({}, 7, at::kLong);
  testing::FakeModel model{{{"w", weight}}, {{"mean", mean}, {"count", count}}};

  void set(float w, float m, int64_t c) {
    at::Tensor values = weight.detach();
    values.fill_(w);
    mean.fill_(m);
    count.fill_(c);
  }
};

TEST(ModelAverage, FollowsItsFormula) {
  Sample s;
  ModelAverage average(s.model, 0.75);
  EXPECT_EQ(average.tensors()[0].name, "w");
  EXPECT_EQ(average.tensors()[2].name, "count");
  s.set(5, 0, 9);
  average.update();
  EXPECT_NEAR(average.tensors()[0].tensor[0].item<double>(), 0.75 * 1 + 0.25 * 5, 1e-6);
  EXPECT_NEAR(average.tensors()[0].tensor[1].item<double>(), 0.75 * 2 + 0.25 * 5, 1e-6);
  EXPECT_NEAR(average.tensors()[1].tensor[0].item<double>(), 0.75 * 4, 1e-6);
  EXPECT_EQ(average.tensors()[2].tensor.item<int64_t>(), 9);
  average.update();
  EXPECT_NEAR(average.tensors()[0].tensor[0].item<double>(), 0.75 * 2 + 0.25 * 5, 1e-6);
  EXPECT_EQ(s.weight[0].item<double>(), 5);
}

TEST(ModelAverage, TakesThePresentWeightsWhenReset) {
  Sample s;
  ModelAverage average(s.model, 0.5);
  s.set(5, 3, 9);
  average.reset();
  EXPECT_EQ(average.tensors()[0].tensor[1].item<double>(), 5);
  EXPECT_EQ(average.tensors()[1].tensor[0].item<double>(), 3);
}

TEST(ModelAverage, StandsInForTheWeightsWhileWanted) {
  Sample s;
  ModelAverage average(s.model, 0.5);
  const at::Tensor handle = s.weight;  // as an optimiser keeps it
  s.set(0.1F, 0.3F, 9);
  {
    const AveragedWeights averaged(&average);
    EXPECT_EQ(handle[0].item<double>(), 1);
    EXPECT_EQ(s.mean[0].item<double>(), 4);
    EXPECT_EQ(s.count.item<int64_t>(), 7);
  }
  EXPECT_EQ(handle[0].item<float>(), 0.1F);
  EXPECT_EQ(average.tensors()[0].tensor[0].item<double>(), 1);
  const AveragedWeights none(nullptr);
}

}  // namespace
}  // namespace ffkit
