// DenseNet (Huang et al., "Densely Connected Convolutional Networks", 2017) as torchvision builds
// it, with its initial draws.
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "distributed/batch_norm.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct DenseNetConfig {
  const char* name;
  int64_t growth;  // channels that each layer adds
  std::array<int64_t, 4> depths;
};
constexpr DenseNetConfig kDenseNets[] = {{"densenet121", 32, {6, 12, 24, 16}},
                                         {"densenet161", 48, {6, 12, 36, 24}},
                                         {"densenet169", 32, {6, 12, 32, 32}},
                                         {"densenet201", 32, {6, 12, 48, 32}}};

void add_norm_relu_conv(Chain& chain, const std::string& number, int64_t in, int64_t out,
                        int64_t kernel) {
  chain.add("norm" + number, BatchNorm(in).ptr());
  chain.add(relu);
  chain.add("conv" + number, conv_without_bias(in, out, kernel).ptr());
}

// [N,C,H,W] -> [N,C+growth,H,W]: the input, and what the layer makes of it.
struct DenseLayer : Chain {
  DenseLayer(int64_t in, int64_t growth) {
    add_norm_relu_conv(*this, "1", in, 4 * growth, 1);
    add_norm_relu_conv(*this, "2", 4 * growth, growth, 3);
  }
  at::Tensor forward(const at::Tensor& x) { return at::cat({x, Chain::forward(x)}, 1); }
};

class DenseNet : public Net {
 public:
  DenseNet(const DenseNetConfig& config, const ModelShape& shape) {
    min_size_ = 29;
    int64_t channels = 2 * config.growth;
    auto features = std::make_shared<Chain>();
    features->add("conv0", conv_without_bias(3, channels, 7, 2).ptr());
    features->add("norm0", BatchNorm(channels).ptr());
    features->add(relu);
    features->add([](const at::Tensor& x) { return at::max_pool2d(x, 3, 2, 1); });
    for (size_t i = 0; i < config.depths.size(); ++i) {
      auto block = std::make_shared<Chain>();
      for (int64_t j = 1; j <= config.depths[i]; ++j, channels += config.growth) {
        block->add(fmt::format("denselayer{}", j),
                   std::make_shared<DenseLayer>(channels, config.growth));
      }
      features->add(fmt::format("denseblock{}", i + 1), block);
      if (i + 1 == config.depths.size()) break;
      auto transition = std::make_shared<Chain>();
      add_norm_relu_conv(*transition, "", channels, channels / 2, 1);
      transition->add([](const at::Tensor& x) { return at::avg_pool2d(x, 2, 2); });
      features->add(fmt::format("transition{}", i + 1), transition);
      channels /= 2;
    }
    features->add("norm5", BatchNorm(channels).ptr());
    features->add(relu);
    add("features", features);
    const nn::Linear classifier = add_head("classifier", channels, shape);
    for_convolutions(*this, [](nn::Conv2dImpl& conv) { nn::init::kaiming_normal_(conv.weight); });
    nn::init::zeros_(classifier->bias);
  }
};

// Published files have names of an early torchvision: denselayer1.norm.1 is denselayer1.norm1
// today.
std::string current_densenet_name(const std::string& name) {
  std::string out = name;
  if (out.find("denselayer") == std::string::npos) return out;
  for (const char* part : {".norm.", ".conv."}) {
    const size_t at = out.find(part);
    if (at != std::string::npos) out.erase(at + 5, 1);
  }
  return out;
}

}  // namespace

void register_densenet(ModelRegistry& registry) {
  add_models<DenseNet>(registry, kDenseNets, "classifier", current_densenet_name);
}

}  // namespace ffkit
