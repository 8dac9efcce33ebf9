// ConvNeXt (Liu et al., "A ConvNet for the 2020s", 2022) as torchvision builds it, with its initial
// draws.
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <array>
#include <numeric>

#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct ConvNextConfig {
  const char* name;
  int64_t channels;  // of the first stage; each of the others has twice as many
  std::array<int64_t, 4> depths;
  double stochastic_depth;  // of the last block, rising linearly from 0
};
constexpr ConvNextConfig kConvNexts[] = {{"convnext_tiny", 96, {3, 3, 9, 3}, 0.1},
                                         {"convnext_small", 96, {3, 3, 27, 3}, 0.4},
                                         {"convnext_base", 128, {3, 3, 27, 3}, 0.5},
                                         {"convnext_large", 192, {3, 3, 27, 3}, 0.5}};
constexpr double kEps = 1e-6;
constexpr double kLayerScale = 1e-6;

// Over the channels of [N,C,H,W].
struct LayerNorm2d : nn::Module {
  explicit LayerNorm2d(int64_t channels) {
    weight = register_parameter("weight", at::ones({channels}));
    bias = register_parameter("bias", at::zeros({channels}));
  }

  at::Tensor forward(const at::Tensor& x) {
    return at::layer_norm(x.permute({0, 2, 3, 1}), weight.sizes(), weight, bias, kEps)
        .permute({0, 3, 1, 2});
  }

  at::Tensor weight, bias;
};

struct Block : nn::Module {
  Block(int64_t channels, double drop_probability_) : drop_probability(drop_probability_) {
    block = std::make_shared<Chain>();
    block->add(nn::Conv2d(nn::Conv2dOptions(channels, channels, 7).padding(3).groups(channels)));
    block->add([](const at::Tensor& x) { return x.permute({0, 2, 3, 1}); });
    block->add(nn::LayerNorm(nn::LayerNormOptions({channels}).eps(kEps)));
    block->add(nn::Linear(channels, 4 * channels));
    block->add([](const at::Tensor& x) { return at::gelu(x); });
    block->add(nn::Linear(4 * channels, channels));
    block->add([](const at::Tensor& x) { return x.permute({0, 3, 1, 2}); });
    layer_scale = register_parameter("layer_scale", at::ones({channels, 1, 1}) * kLayerScale);
    register_module("block", block);
  }

  at::Tensor forward(const at::Tensor& x) {
    return stochastic_depth(layer_scale * block->forward(x), drop_probability, is_training()) + x;
  }

  double drop_probability;
  std::shared_ptr<Chain> block;
  at::Tensor layer_scale;
};

class ConvNext : public ClassifierNet {
 public:
  ConvNext(const ConvNextConfig& config, const ModelShape& shape) {
    int64_t channels = config.channels;
    auto stem = std::make_shared<Chain>();
    stem->add(nn::Conv2d(nn::Conv2dOptions(3, channels, 4).stride(4)));
    stem->add(std::make_shared<LayerNorm2d>(channels));
    features_->add(stem);
    const auto num_blocks = std::accumulate(config.depths.begin(), config.depths.end(), int64_t{0});
    int64_t block = 0;
    for (size_t i = 0; i < config.depths.size(); ++i) {
      if (i > 0) {
        auto downsampling = std::make_shared<Chain>();
        downsampling->add(std::make_shared<LayerNorm2d>(channels));
        downsampling->add(nn::Conv2d(nn::Conv2dOptions(channels, 2 * channels, 2).stride(2)));
        features_->add(downsampling);
        channels *= 2;
      }
      auto stage = std::make_shared<Chain>();
      for (int64_t j = 0; j < config.depths[i]; ++j, ++block) {
        stage->add(
            std::make_shared<Block>(channels, config.stochastic_depth * block / (num_blocks - 1)));
      }
      features_->add(stage);
    }
    classifier_->add(std::make_shared<LayerNorm2d>(channels));
    classifier_->add([this, dropout = shape.dropout](const at::Tensor& x) {
      return drop(x.flatten(1), dropout, is_training());
    });
    classifier_->add(nn::Linear(channels, shape.num_classes));
    add("features", features_);
    add([](const at::Tensor& x) { return x.mean({2, 3}, /*keepdim=*/true); });
    add("classifier", classifier_);
    // torchvision's trunc_normal_ cuts at +-2, which is 100 standard deviations: torch 2.15 draws
    // what normal_ draws.
    for (const std::shared_ptr<nn::Module>& module : modules(/*include_self=*/false)) {
      if (auto* conv = module->as<nn::Conv2dImpl>())
        initialise_normal(conv->weight, conv->bias, 0.02);
      if (auto* linear = module->as<nn::LinearImpl>())
        initialise_normal(linear->weight, linear->bias, 0.02);
    }
  }
};

}  // namespace

void register_convnext(ModelRegistry& registry) {
  add_models<ConvNext>(registry, kConvNexts, "classifier.2");
}

}  // namespace ffkit
