// ResNet (He et al., "Deep Residual Learning for Image Recognition", 2015; the bottlenecks with the stride in the 3x3 convolution),
// ResNeXt (Xie et al., "Aggregated Residual Transformations", 2016) and Wide ResNet (Zagoruyko and Komodakis, 2016) as torchvision builds
// them: modules constructed and initialised in the same order with the same random draws.
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "distributed/batch_norm.h"
#include "model/model_registry.h"
#include "models/blocks/layers.h"
#include "models/blocks/net.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct ResNetConfig {
  const char* name;
  std::array<int64_t, 4> depths;
  bool has_bottlenecks = true;
  int64_t groups = 1;
  int64_t width_per_group = 64;
};

struct BasicBlock : nn::Module {
  static constexpr int64_t kExpansion = 1;

  BasicBlock(int64_t in, int64_t width, int64_t stride, std::shared_ptr<Chain> shortcut,
             const ResNetConfig& /*config*/) {
    conv1 = register_module("conv1", conv_without_bias(in, width, 3, stride));
    bn1 = register_module("bn1", BatchNorm(width));
    conv2 = register_module("conv2", conv_without_bias(width, width, 3));
    bn2 = register_module("bn2", BatchNorm(width));
    if (shortcut) downsample = register_module("downsample", std::move(shortcut));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y));
    y += downsample ? downsample->forward(x) : x;
    return y.relu_();
  }

  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  BatchNorm bn1{nullptr}, bn2{nullptr};
  std::shared_ptr<Chain> downsample;
};

struct BottleneckBlock : nn::Module {
  static constexpr int64_t kExpansion = 4;

  BottleneckBlock(int64_t in, int64_t planes, int64_t stride, std::shared_ptr<Chain> shortcut,
                  const ResNetConfig& config) {
    const int64_t width = planes * config.width_per_group / 64 * config.groups;
    const int64_t out = planes * kExpansion;
    conv1 = register_module("conv1", conv_without_bias(in, width, 1));
    bn1 = register_module("bn1", BatchNorm(width));
    conv2 = register_module("conv2", conv_without_bias(width, width, 3, stride, config.groups));
    bn2 = register_module("bn2", BatchNorm(width));
    conv3 = register_module("conv3", conv_without_bias(width, out, 1));
    bn3 = register_module("bn3", BatchNorm(out));
    if (shortcut) downsample = register_module("downsample", std::move(shortcut));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y)).relu_();
    y = bn3(conv3(y));
    y += downsample ? downsample->forward(x) : x;
    return y.relu_();
  }

  nn::Conv2d conv1{nullptr}, conv2{nullptr}, conv3{nullptr};
  BatchNorm bn1{nullptr}, bn2{nullptr}, bn3{nullptr};
  std::shared_ptr<Chain> downsample;
};

template <typename Block>
class ResNet : public Net {
 public:
  ResNet(const ResNetConfig& config, int64_t num_classes) {
    conv1_ = register_module("conv1", conv_without_bias(3, 64, 7, 2));
    bn1_ = register_module("bn1", BatchNorm(64));
    int64_t channels = 64;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const int64_t planes = int64_t{64} << i;
      layers_[i] =
          register_module("layer" + std::to_string(i + 1),
                          make_layer(channels, planes, config.depths[i], i == 0 ? 1 : 2, config));
      channels = planes * Block::kExpansion;
    }
    fc_ = register_module("fc", nn::Linear(channels, num_classes));
    initialise_convolutions(*this);
  }

  at::Tensor forward(const at::Tensor& images) override {
    at::Tensor x = bn1_(conv1_(images)).relu_();
    x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (const std::shared_ptr<Chain>& layer : layers_) x = layer->forward(x);
    return fc_(global_average(x));
  }

 private:
  static std::shared_ptr<Chain> make_layer(int64_t in, int64_t planes, int64_t depth,
                                           int64_t stride, const ResNetConfig& config) {
    const int64_t out = planes * Block::kExpansion;
    // Made before the block that owns it, as in torchvision: the order of the draws depends on it.
    std::shared_ptr<Chain> shortcut;
    if (stride != 1 || in != out) {
      shortcut = conv_norm({.in = in, .out = out, .kernel = 1, .stride = stride});
    }
    auto layer = std::make_shared<Chain>();
    layer->add(std::make_shared<Block>(in, planes, stride, shortcut, config));
    for (int64_t i = 1; i < depth; ++i) {
      layer->add(std::make_shared<Block>(out, planes, 1, nullptr, config));
    }
    return layer;
  }

  nn::Conv2d conv1_{nullptr};
  BatchNorm bn1_{nullptr};
  std::array<std::shared_ptr<Chain>, 4> layers_;
  nn::Linear fc_{nullptr};
};

constexpr std::array kConfigs = {
    ResNetConfig{.name = "resnet18", .depths = {2, 2, 2, 2}, .has_bottlenecks = false},
    ResNetConfig{.name = "resnet34", .depths = {3, 4, 6, 3}, .has_bottlenecks = false},
    ResNetConfig{.name = "resnet50", .depths = {3, 4, 6, 3}},
    ResNetConfig{.name = "resnet101", .depths = {3, 4, 23, 3}},
    ResNetConfig{.name = "resnet152", .depths = {3, 8, 36, 3}},
    ResNetConfig{
        .name = "resnext50_32x4d", .depths = {3, 4, 6, 3}, .groups = 32, .width_per_group = 4},
    ResNetConfig{
        .name = "resnext101_32x8d", .depths = {3, 4, 23, 3}, .groups = 32, .width_per_group = 8},
    ResNetConfig{
        .name = "resnext101_64x4d", .depths = {3, 4, 23, 3}, .groups = 64, .width_per_group = 4},
    ResNetConfig{.name = "wide_resnet50_2", .depths = {3, 4, 6, 3}, .width_per_group = 128},
    ResNetConfig{.name = "wide_resnet101_2", .depths = {3, 4, 23, 3}, .width_per_group = 128},
};

}  // namespace

void register_resnet(ModelRegistry& registry) {
  for (const ResNetConfig& config : kConfigs) {
    registry.add({.name = config.name, .head = "fc", .make = [&config](const ModelShape& shape) {
                    return make_model_of(
                        config.has_bottlenecks
                            ? std::shared_ptr<Net>(std::make_shared<ResNet<BottleneckBlock>>(
                                  config, shape.num_classes))
                            : std::make_shared<ResNet<BasicBlock>>(config, shape.num_classes));
                  }});
  }
}

}  // namespace ffkit
