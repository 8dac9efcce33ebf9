#include <ATen/Context.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "model/model_registry.h"
#include "model/parameters.h"
#include "models/blocks/image_model.h"
#include "support/fake_model.h"

namespace ffkit {
namespace {

std::vector<std::string> zeroed(const Model& model) {
  std::vector<std::string> names;
  for (const NamedTensor& p : model.parameters()) {
    if (p.name.ends_with(".weight") && p.tensor.abs().sum().item<double>() == 0) {
      names.push_back(p.name);
    }
  }
  return names;
}

TEST(ZeroInitResidual, ZeroesTheLastNormOfEachBlock) {
  at::manual_seed(0);
  const std::unique_ptr<ImageModel> basic =
      ModelRegistry::instance().find("resnet18").make({.num_classes = 10});
  EXPECT_TRUE(zeroed(*basic).empty());
  zero_init_residual(*basic);
  ASSERT_EQ(zeroed(*basic).size(), 8);
  EXPECT_EQ(zeroed(*basic)[0], "layer1.0.bn2.weight");
  EXPECT_EQ(zeroed(*basic)[7], "layer4.1.bn2.weight");
  const std::unique_ptr<ImageModel> bottleneck =
      ModelRegistry::instance().find("resnet50").make({.num_classes = 10});
  zero_init_residual(*bottleneck);
  ASSERT_EQ(zeroed(*bottleneck).size(), 16);
  EXPECT_EQ(zeroed(*bottleneck)[15], "layer4.2.bn3.weight");
}

TEST(ZeroInitResidual, RefusesAModelWithoutResidualBlocks) {
  const testing::FakeModel model({{"features.0.weight", at::ones({2})}}, {});
  EXPECT_ERROR(zero_init_residual(model), invalid_argument);
}

}  // namespace
}  // namespace ffkit
