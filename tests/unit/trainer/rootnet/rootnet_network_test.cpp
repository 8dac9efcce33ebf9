#include "tasks/rootnet/network/rootnet_network.h"

#include <ffkit/trainer/rootnet.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

std::map<std::string, at::Tensor> tensors_of(const RootNetNetwork& network) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& item : network.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : network.named_buffers()) tensors[item.key()] = item.value();
  return tensors;
}

// In float64: there the processor's kernels agree.
std::shared_ptr<RootNetNetwork> formula_network() {
  const at::NoGradGuard no_grad;
  auto network = std::make_shared<RootNetNetwork>(rootnet_config("micro"));
  network->to(at::kDouble);
  double seed = 0;
  for (auto& [name, tensor] : tensors_of(*network)) {
    const double own_seed = seed++;
    if (name.ends_with("num_batches_tracked")) continue;
    at::Tensor numbers = testing::formula_numbers(tensor.sizes(), own_seed);
    if (tensor.dim() > 1) {
      const double factor = name == "root.xy_layer.weight" ? 30 : 4;
      numbers = numbers * (factor / std::sqrt(double(tensor.numel() / tensor.size(0))));
    } else if (name.ends_with("running_var") || name.ends_with("weight")) {
      numbers = numbers * 0.4 + 1;
    } else {
      numbers = numbers * 0.2;
    }
    tensor.copy_(numbers);
  }
  return network;
}

struct RootNetGolden {
  bool is_train;
  std::array<double, 6> coordinates;
  double loss;
  std::map<std::string, double> gradients;  // norms
};

void expect_golden(const RootNetGolden& golden) {
  const auto network = formula_network();
  network->train(golden.is_train);
  const at::Tensor images = testing::formula_numbers({2, 3, 64, 64}, 1000) * 4;
  const at::Tensor k = at::tensor({1.0, 2.0}, at::kDouble);
  const at::Tensor coordinates = network->forward(images, k);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(coordinates.flatten()[i].item<double>(), golden.coordinates[size_t(i)], 1e-9) << i;
  }
  const at::Tensor targets = at::tensor({3.0, 5.0, 2.5, 11.0, 9.0, 4.0}, at::kDouble).view({2, 3});
  const at::Tensor loss = rootnet_losses(coordinates, targets, at::tensor({1.0, 1.0}, at::kDouble),
                                         at::tensor({1.0, 0.0}, at::kDouble))
                              .mean();
  EXPECT_NEAR(loss.item<double>(), golden.loss, 1e-9);
  loss.backward();
  const auto tensors = tensors_of(*network);
  for (const auto& [name, norm] : golden.gradients) {
    EXPECT_NEAR(tensors.at(name).grad().norm().item<double>() / norm, 1, 1e-8) << name;
  }
  if (!golden.is_train) return;
  EXPECT_NEAR(tensors.at("backbone.bn1.running_mean").sum().item<double>(), 0.20116149676275555,
              1e-9);
  EXPECT_NEAR(tensors.at("root.deconv_layers.7.running_var").sum().item<double>(),
              29.45572202296104, 1e-9);
}

// Computed in Python by torchvision's blocks with the head of 3DMPPE_ROOTNET_RELEASE's
// main/model.py behind them.
TEST(RootNet, ComputesWhatThePublishedCodeDoesInEvaluation) {
  expect_golden({.is_train = false,
                 .coordinates = {7.303962654980209, 7.1003097162939115, 3.047346543846996,
                                 7.370601678884178, 6.850852134303262, 6.141750482394069},
                 .loss = 2.1216941836556127,
                 .gradients = {{"backbone.conv1.weight", 1.7795776288872316},
                               {"backbone.layer3.0.downsample.0.weight", 1.1445673454901377},
                               {"root.deconv_layers.3.weight", 3.192853599869013},
                               {"root.xy_layer.weight", 0.0733609554598355},
                               {"root.depth_layer.bias", 1.0 / 6}}});
}

TEST(RootNet, ComputesWhatThePublishedCodeDoesInTraining) {
  expect_golden({.is_train = true,
                 .coordinates = {6.016269212659202, 12.987862429572365, 0.7191138190013775,
                                 9.21861903785114, 8.11945662225467, 2.7586540837701987},
                 .loss = 2.57449036052073,
                 .gradients = {{"backbone.conv1.weight", 81.09941674097472},
                               {"backbone.layer3.0.downsample.0.weight", 9.06957178191362},
                               {"root.deconv_layers.3.weight", 34.64851833722849},
                               {"root.xy_layer.weight", 1.0753375564982226},
                               {"root.depth_layer.bias", 1.0 / 6}}});
}

TEST(RootNet, LossLeavesOutWhatIsNotKnown) {
  const at::Tensor found = at::tensor({3.0F, 5.0F, 70.0F}, at::kFloat).repeat({3, 1});
  const at::Tensor targets = at::tensor({1.0F, 6.0F, 100.0F}, at::kFloat).repeat({3, 1});
  const at::Tensor losses =
      rootnet_losses(found, targets, at::tensor({1.0F, 1.0F, 0.0F}, at::kFloat),
                     at::tensor({1.0F, 0.0F, 1.0F}, at::kFloat));
  EXPECT_TRUE(at::equal(losses, at::tensor({11.0F, 1.0F, 0.0F}, at::kFloat)));
}

TEST(RootNet, PublishedSizesHaveTheirParts) {
  const RootNetNetwork network(rootnet_config("resnet50"));
  const auto tensors = tensors_of(network);
  EXPECT_EQ(tensors.at("backbone.layer3.5.conv2.weight").sizes(),
            (at::IntArrayRef{256, 256, 3, 3}));
  EXPECT_EQ(tensors.at("root.deconv_layers.0.weight").sizes(), (at::IntArrayRef{2048, 256, 4, 4}));
  EXPECT_EQ(tensors.at("root.deconv_layers.7.running_var").sizes(), (at::IntArrayRef{256}));
  EXPECT_EQ(tensors.at("root.xy_layer.weight").sizes(), (at::IntArrayRef{1, 256, 1, 1}));
  EXPECT_EQ(tensors.at("root.depth_layer.weight").sizes(), (at::IntArrayRef{1, 2048, 1, 1}));
  EXPECT_EQ(rootnet_config("resnet101").depths[2], 23);
  EXPECT_EQ(rootnet_config("resnet152").depths[1], 8);
  EXPECT_ERROR(rootnet_config("vgg"), invalid_argument);
}

}  // namespace
}  // namespace ffkit
