#include "model/parameters.h"

#include "model/model_registry.h"
#include "models/blocks/image_model.h"
#include "support/fake_model.h"
#include "support/test_models.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

std::unique_ptr<ImageModel> make(const char* name = testing::kTestResNet, double dropout = -1) {
  testing::add_test_models();
  return ModelRegistry::instance().find(name).make({.num_classes = 3, .dropout = dropout});
}

std::vector<std::string> trained(const std::string& freeze) {
  const auto model = make();
  freeze_parameters(freeze, *model, "fc");
  std::vector<std::string> names;
  for (const NamedTensor& p : trained_parameters(*model)) names.push_back(p.name);
  return names;
}

std::vector<std::string> parameter_names(const char* model) {
  std::vector<std::string> names;
  for (const NamedTensor& p : make(model)->parameters()) names.push_back(p.name);
  return names;
}

TEST(FineTuning, FreezesTheBackboneOrWhatIsNamed) {
  EXPECT_EQ(trained("backbone"), (std::vector<std::string>{"fc.weight", "fc.bias"}));
  const size_t all = trained("").size();
  EXPECT_EQ(trained("layer1").size(), all - 6) << "a block: two convolutions, two batch norms";
  EXPECT_EQ(trained("layer1,fc").size(), all - 8);
  EXPECT_EQ(trained("*.bias").size(), trained("*.bias,bn1.bias").size());
  EXPECT_ERROR(trained("layer9"), invalid_argument);
  EXPECT_ERROR(trained("backbone,fc"), invalid_argument);
  EXPECT_ERROR(freeze_parameters("backbone", *make(), ""), invalid_argument);
}

// What a batch norm has seen belongs to the weights that are kept.
TEST(FineTuning, KeepsTheStatisticsOfFrozenBatchNorms) {
  const auto model = make();
  freeze_parameters("layer1", *model, "fc");
  model->set_training(true);
  std::vector<at::Tensor> before;
  for (const NamedTensor& b : model->buffers()) before.push_back(b.tensor.clone());
  model->forward(at::randn({4, 3, 32, 32}));
  const std::vector<NamedTensor> after = model->buffers();
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].tensor.equal(before[i]), after[i].name.starts_with("layer1"))
        << after[i].name;
  }
}

TEST(FineTuning, ScalesTheLearningRateByLayer) {
  const TuningRates rates{.lr = 0.1, .lr_head = 0.5, .layer_decay = 0.5};
  const auto resnet = lr_scales(rates, parameter_names("resnet18"), "fc");  // eight blocks
  EXPECT_EQ(resnet.at("conv1.weight"), std::pow(0.5, 9));
  EXPECT_EQ(resnet.at("bn1.bias"), std::pow(0.5, 9));
  EXPECT_EQ(resnet.at("layer1.0.conv1.weight"), std::pow(0.5, 8));
  EXPECT_EQ(resnet.at("layer2.0.downsample.0.weight"), std::pow(0.5, 6));
  EXPECT_EQ(resnet.at("layer4.1.bn2.weight"), 0.5);
  EXPECT_EQ(resnet.at("fc.weight"), 5);
  // As BEiT's and timm's: class token, positions and patches are layer 0, norm and head the last
  // one.
  const auto vit = lr_scales({.layer_decay = 0.5}, parameter_names("vit_b_16"), "heads.head");
  EXPECT_EQ(vit.at("class_token"), std::pow(0.5, 13));
  EXPECT_EQ(vit.at("encoder.pos_embedding"), std::pow(0.5, 13));
  EXPECT_EQ(vit.at("encoder.layers.encoder_layer_0.mlp.0.weight"), std::pow(0.5, 12));
  EXPECT_EQ(vit.at("encoder.layers.encoder_layer_11.ln_2.bias"), 0.5);
  EXPECT_EQ(vit.at("encoder.ln.weight"), 1);
  EXPECT_EQ(vit.at("heads.head.bias"), 1);
  EXPECT_EQ(lr_scales({.layer_decay = 0.5}, {"wte", "h.0.a", "h.1.a", "ln_f"}, ""),
            (std::map<std::string, double>{
                {"wte", 0.125}, {"h.0.a", 0.25}, {"h.1.a", 0.5}, {"ln_f", 1}}));
  EXPECT_TRUE(lr_scales({}, {"a", "b"}, "").empty());
  EXPECT_ERROR(lr_scales({.lr_head = 1}, {"a"}, ""), invalid_argument);
}

TEST(FineTuning, DropsTheInputsOfTheHeadInEveryModel) {
  for (const char* name :
       {"resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "convnext_tiny"}) {
    const at::NoGradGuard no_grad;
    const auto model = make(name, 0.999999);
    const std::string head = ModelRegistry::instance().find(name).head;
    at::Tensor bias;
    for (const NamedTensor& p : model->parameters()) {
      if (p.name == head + ".bias") bias = p.tensor.fill_(7);
    }
    const at::Tensor images = at::randn({2, 3, 64, 64});
    EXPECT_TRUE(model->forward(images).eq(7).all().item<bool>()) << name;
    model->set_training(false);
    EXPECT_FALSE(model->forward(images).eq(7).all().item<bool>()) << name;
  }
}

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
