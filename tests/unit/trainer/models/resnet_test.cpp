#include <ATen/ops/linspace.h>

#include "model/model_registry.h"
#include "models/blocks/image_model.h"
#include "support/test_models.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

std::unique_ptr<ImageModel> make_resnet(const std::string& arch, int64_t num_classes) {
  return ModelRegistry::instance().find(arch).make({.num_classes = num_classes});
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes state_shapes(const Model& model) {
  Shapes shapes;
  for (const NamedTensor& t : model.parameters()) shapes[t.name] = t.tensor.sizes().vec();
  for (const NamedTensor& t : model.buffers()) shapes[t.name] = t.tensor.sizes().vec();
  return shapes;
}

int64_t num_weights(const Model& model) {
  int64_t n = 0;
  for (const NamedTensor& p : model.parameters()) n += p.tensor.numel();
  return n;
}

at::Tensor parameter(const Model& model, const std::string& name) {
  for (const NamedTensor& p : model.parameters()) {
    if (p.name == name) return p.tensor.detach();
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

void expect_values(const at::Tensor& tensor, const std::vector<double>& expected,
                   double tolerance) {
  const at::Tensor flat = tensor.detach().contiguous().view({-1});
  ASSERT_GE(flat.numel(), int64_t(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(flat[int64_t(i)].item<double>(), expected[i], tolerance) << "value " << i;
  }
}

// The parameters of torchvision.models.resnet18(num_classes=10), in its order.
void add_bn(std::vector<std::string>& names, const std::string& bn) {
  names.push_back(bn + ".weight");
  names.push_back(bn + ".bias");
}

std::vector<std::string> resnet18_parameters() {
  std::vector<std::string> names = {"conv1.weight"};
  add_bn(names, "bn1");
  for (const char* block : {"layer1.0", "layer1.1", "layer2.0", "layer2.1", "layer3.0", "layer3.1",
                            "layer4.0", "layer4.1"}) {
    const std::string b = block;
    for (const char* i : {"1", "2"}) {
      names.push_back(b + ".conv" + i + ".weight");
      add_bn(names, b + ".bn" + i);
    }
    if (b == "layer2.0" || b == "layer3.0" || b == "layer4.0") {
      names.push_back(b + ".downsample.0.weight");
      add_bn(names, b + ".downsample.1");
    }
  }
  names.push_back("fc.weight");
  names.push_back("fc.bias");
  return names;
}

TEST(ResNet, HasTorchvisionsParametersInItsOrder) {
  const auto model = make_resnet("resnet18", 10);
  std::vector<std::string> names;
  for (const NamedTensor& p : model->parameters()) names.push_back(p.name);
  EXPECT_EQ(names, resnet18_parameters());
}

// Counts and shapes as torchvision's state_dict() has them.
TEST(ResNet, HasTorchvisionsShapes) {
  const auto r18 = make_resnet("resnet18", 1000);
  const auto r34 = make_resnet("resnet34", 1000);
  const auto r50 = make_resnet("resnet50", 1000);
  EXPECT_EQ(num_weights(*r18), 11689512);
  EXPECT_EQ(num_weights(*r34), 21797672);
  EXPECT_EQ(num_weights(*r50), 25557032);
  const Shapes s18 = state_shapes(*r18);
  const Shapes s34 = state_shapes(*r34);
  const Shapes s50 = state_shapes(*r50);
  EXPECT_EQ(s18.size(), 122U);
  EXPECT_EQ(s34.size(), 218U);
  EXPECT_EQ(s50.size(), 320U);
  using V = std::vector<int64_t>;
  EXPECT_EQ(s18.at("conv1.weight"), (V{64, 3, 7, 7}));
  EXPECT_EQ(s18.at("layer2.0.downsample.0.weight"), (V{128, 64, 1, 1}));
  EXPECT_EQ(s18.at("fc.weight"), (V{1000, 512}));
  EXPECT_EQ(s34.at("layer4.2.conv2.weight"), (V{512, 512, 3, 3}));
  EXPECT_EQ(s50.at("layer1.0.downsample.0.weight"), (V{256, 64, 1, 1}));
  EXPECT_EQ(s50.at("layer4.2.conv1.weight"), (V{512, 2048, 1, 1}));
  EXPECT_EQ(s50.at("layer4.2.conv2.weight"), (V{512, 512, 3, 3}));
  EXPECT_EQ(s50.at("layer4.2.bn3.running_var"), (V{2048}));
  EXPECT_EQ(s50.at("layer4.2.bn3.num_batches_tracked"), V{});
  EXPECT_EQ(s50.at("fc.bias"), (V{1000}));
}

// Values printed by torchvision 0.30 after torch.manual_seed(7). They come through a logarithm and
// a cosine, whose last bits are the processor's; another draw would be another number altogether.
constexpr double kSameDraw = 1e-6;

TEST(ResNet, DrawsTorchvisionsInitialWeights) {
  at::manual_seed(7);
  const auto r18 = make_resnet("resnet18", 10);
  expect_values(parameter(*r18, "conv1.weight"), {0.036433354, -0.00321871089, -0.0158942789},
                kSameDraw);
  expect_values(parameter(*r18, "layer2.0.downsample.0.weight"),
                {0.0246701296, -0.0695615485, -0.162899897}, kSameDraw);
  expect_values(parameter(*r18, "layer4.1.conv2.weight"),
                {-0.00147020607, 0.0010209576, 0.018645823}, kSameDraw);
  expect_values(parameter(*r18, "fc.weight"), {-0.0173849743, -0.0344467349, -0.0284744315},
                kSameDraw);
  expect_values(parameter(*r18, "fc.bias"), {-0.0152203487, -0.0192180295, -0.0119517185},
                kSameDraw);
  at::manual_seed(7);
  const auto r50 = make_resnet("resnet50", 4);
  expect_values(parameter(*r50, "layer1.0.downsample.0.weight"),
                {0.0569859259, -0.0564243346, 0.0152659938}, kSameDraw);
  expect_values(parameter(*r50, "layer3.5.conv2.weight"),
                {0.0231222454, -0.0222196206, -0.0045202896}, kSameDraw);
  expect_values(parameter(*r50, "fc.weight"), {-0.0120611051, -0.0217503551, 0.0215138998},
                kSameDraw);
}

// [2,3,32,32] from -1 to 1.
at::Tensor ramp() {
  return at::linspace(-1, 1, int64_t{2} * 3 * 32 * 32).view({2, 3, 32, 32});
}

// Logits printed by torchvision 0.30 after torch.manual_seed(7) and .double() for ramp(), first in
// training, then in evaluation mode. In float32, batch norm over few values makes the rounding of
// one processor's kernels a difference of 3e-3 to another's.
TEST(ResNet, GivesTorchvisionsLogits) {
  at::NoGradGuard no_grad;
  at::manual_seed(7);
  const auto r18 = make_resnet("resnet18", 10);
  testing::compute_in_float64(*r18);
  const at::Tensor pictures = ramp().to(at::kDouble);
  expect_values(r18->forward(pictures),
                {0.470052080, 0.657350607, 1.197594208, 0.335143381, -0.922170907}, 1e-9);
  r18->set_training(false);
  // These were printed in float32.
  expect_values(r18->forward(pictures),
                {0.02763014, 0.05028573, -0.0125192, 0.04589535, -0.0813575}, 1e-5);
}

TEST(ResNet, GivesTheSameLogitsInChannelsLast) {
  at::NoGradGuard no_grad;
  at::manual_seed(3);
  const auto plain = make_resnet("resnet34", 5);
  at::manual_seed(3);
  const auto last = make_resnet("resnet34", 5);
  last->use_channels_last();
  EXPECT_TRUE(
      parameter(*last, "layer1.0.conv1.weight").is_contiguous(at::MemoryFormat::ChannelsLast));
  plain->set_training(false);
  last->set_training(false);
  const at::Tensor a = plain->forward(ramp());
  const at::Tensor b = last->forward(ramp().contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_LT(a.sub(b).abs().max().item<double>(), 1e-4);
}

// 32 pixels are one in the last stage: its batch norms have one value for each channel.
TEST(ResNet, SaysWhyABatchOfOneCannotBeTrainedOn) {
  testing::add_test_models();
  const auto model = ModelRegistry::instance().find(testing::kTestResNet).make({.num_classes = 3});
  EXPECT_ERROR(model->forward(at::randn({1, 3, 32, 32})), invalid_argument);
  EXPECT_EQ(model->forward(at::randn({1, 3, 64, 64})).size(0), 1);
  EXPECT_EQ(model->forward(at::randn({2, 3, 32, 32})).size(0), 2);
  model->set_training(false);
  EXPECT_EQ(model->forward(at::randn({1, 3, 32, 32})).size(0), 1);
}

}  // namespace
}  // namespace ffkit
