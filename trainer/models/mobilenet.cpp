// MobileNetV2 (Sandler et al., "Inverted Residuals and Linear Bottlenecks", 2018) and MobileNetV3
// (Howard et al., "Searching for MobileNetV3", 2019) as torchvision builds them, with its
// initial draws.
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <array>
#include <span>

#include "distributed/batch_norm.h"
#include "model/model_registry.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

at::Tensor relu6(const at::Tensor& x) {
  return at::relu6(x);
}

struct MobileNetV2Block : nn::Module {
  MobileNetV2Block(int64_t in, int64_t out, int64_t stride, int64_t expansion)
      : has_shortcut(stride == 1 && in == out) {
    const int64_t width = in * expansion;
    conv = std::make_shared<Chain>();
    if (expansion != 1) {
      conv->add(conv_norm({.in = in, .out = width, .kernel = 1, .activation = relu6}));
    }
    conv->add(conv_norm(
        {.in = width, .out = width, .stride = stride, .groups = width, .activation = relu6}));
    conv->add(conv_without_bias(width, out, 1));
    conv->add(BatchNorm(out));
    register_module("conv", conv);
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = conv->forward(x);
    return has_shortcut ? x + y : y;
  }

  bool has_shortcut;
  std::shared_ptr<Chain> conv;
};

class MobileNetV2 : public ClassifierNet {
 public:
  explicit MobileNetV2(const ModelShape& shape) {
    struct StageSizes {
      int64_t expansion, channels, depth, stride;
    };
    constexpr std::array kStages = {StageSizes{1, 16, 1, 1}, StageSizes{6, 24, 2, 2},
                                    StageSizes{6, 32, 3, 2}, StageSizes{6, 64, 4, 2},
                                    StageSizes{6, 96, 3, 1}, StageSizes{6, 160, 3, 2},
                                    StageSizes{6, 320, 1, 1}};
    constexpr int64_t kLastChannels = 1280;
    int64_t channels = 32;
    features_->add(conv_norm({.in = 3, .out = channels, .stride = 2, .activation = relu6}));
    for (const StageSizes& stage : kStages) {
      for (int64_t i = 0; i < stage.depth; ++i) {
        features_->add(std::make_shared<MobileNetV2Block>(
            channels, stage.channels, i == 0 ? stage.stride : 1, stage.expansion));
        channels = stage.channels;
      }
    }
    features_->add(
        conv_norm({.in = channels, .out = kLastChannels, .kernel = 1, .activation = relu6}));
    classifier_->add(nn::Dropout(shape.dropout < 0 ? 0.2 : shape.dropout));
    const nn::Linear head(kLastChannels, shape.num_classes);
    classifier_->add(head);
    register_chains();
    initialise_convolutions(*this);
    nn::init::normal_(head->weight, 0, 0.01);
    nn::init::zeros_(head->bias);
  }
};

enum Activation { relu, hardswish };

// A row of tables 1 and 2 of the paper.
struct BlockConfig {
  int64_t in, kernel, expanded, out;
  bool has_squeeze;
  Activation activation;
  int64_t stride;
};

Function function_of(Activation activation) {
  if (activation == relu) return [](const at::Tensor& x) { return at::relu(x); };
  return [](const at::Tensor& x) { return at::hardswish(x); };
}

std::shared_ptr<Chain> conv_norm_v3(ConvNormOptions options) {
  options.bn_eps = 0.001;
  options.bn_momentum = 0.01;
  return conv_norm(options);
}

struct MobileNetV3Block : nn::Module {
  explicit MobileNetV3Block(const BlockConfig& c) : has_shortcut(c.stride == 1 && c.in == c.out) {
    const Function activation = function_of(c.activation);
    block = std::make_shared<Chain>();
    if (c.expanded != c.in) {
      block->add(
          conv_norm_v3({.in = c.in, .out = c.expanded, .kernel = 1, .activation = activation}));
    }
    block->add(conv_norm_v3({.in = c.expanded,
                             .out = c.expanded,
                             .kernel = c.kernel,
                             .stride = c.stride,
                             .groups = c.expanded,
                             .activation = activation}));
    if (c.has_squeeze) {
      block->add(std::make_shared<SqueezeExcitation>(
          c.expanded, round_to_eights(c.expanded / 4), function_of(relu),
          [](const at::Tensor& x) { return at::hardsigmoid(x); }));
    }
    block->add(conv_norm_v3({.in = c.expanded, .out = c.out, .kernel = 1}));
    register_module("block", block);
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = block->forward(x);
    if (has_shortcut) y += x;
    return y;
  }

  bool has_shortcut;
  std::shared_ptr<Chain> block;
};

class MobileNetV3 : public ClassifierNet {
 public:
  MobileNetV3(std::span<const BlockConfig> blocks, int64_t hidden, const ModelShape& shape) {
    const Function activation = function_of(hardswish);
    features_->add(
        conv_norm_v3({.in = 3, .out = blocks.front().in, .stride = 2, .activation = activation}));
    for (const BlockConfig& config : blocks) {
      features_->add(std::make_shared<MobileNetV3Block>(config));
    }
    const int64_t channels = 6 * blocks.back().out;
    features_->add(conv_norm_v3(
        {.in = blocks.back().out, .out = channels, .kernel = 1, .activation = activation}));
    const nn::Linear first(channels, hidden);
    classifier_->add(first);
    classifier_->add(activation);
    classifier_->add(nn::Dropout(shape.dropout < 0 ? 0.2 : shape.dropout));
    const nn::Linear head(hidden, shape.num_classes);
    classifier_->add(head);
    register_chains();
    initialise_convolutions(*this);
    for (const nn::Linear& linear : {first, head}) {
      nn::init::normal_(linear->weight, 0, 0.01);
      nn::init::zeros_(linear->bias);
    }
  }
};

constexpr std::array kLarge = {
    BlockConfig{16, 3, 16, 16, false, relu, 1},
    BlockConfig{16, 3, 64, 24, false, relu, 2},
    BlockConfig{24, 3, 72, 24, false, relu, 1},
    BlockConfig{24, 5, 72, 40, true, relu, 2},
    BlockConfig{40, 5, 120, 40, true, relu, 1},
    BlockConfig{40, 5, 120, 40, true, relu, 1},
    BlockConfig{40, 3, 240, 80, false, hardswish, 2},
    BlockConfig{80, 3, 200, 80, false, hardswish, 1},
    BlockConfig{80, 3, 184, 80, false, hardswish, 1},
    BlockConfig{80, 3, 184, 80, false, hardswish, 1},
    BlockConfig{80, 3, 480, 112, true, hardswish, 1},
    BlockConfig{112, 3, 672, 112, true, hardswish, 1},
    BlockConfig{112, 5, 672, 160, true, hardswish, 2},
    BlockConfig{160, 5, 960, 160, true, hardswish, 1},
    BlockConfig{160, 5, 960, 160, true, hardswish, 1},
};
constexpr std::array kSmall = {
    BlockConfig{16, 3, 16, 16, true, relu, 2},
    BlockConfig{16, 3, 72, 24, false, relu, 2},
    BlockConfig{24, 3, 88, 24, false, relu, 1},
    BlockConfig{24, 5, 96, 40, true, hardswish, 2},
    BlockConfig{40, 5, 240, 40, true, hardswish, 1},
    BlockConfig{40, 5, 240, 40, true, hardswish, 1},
    BlockConfig{40, 5, 120, 48, true, hardswish, 1},
    BlockConfig{48, 5, 144, 48, true, hardswish, 1},
    BlockConfig{48, 5, 288, 96, true, hardswish, 2},
    BlockConfig{96, 5, 576, 96, true, hardswish, 1},
    BlockConfig{96, 5, 576, 96, true, hardswish, 1},
};

}  // namespace

void register_mobilenet(ModelRegistry& registry) {
  registry.add(
      {.name = "mobilenet_v2", .head = "classifier.1", .make = [](const ModelShape& shape) {
         return make_model_of(std::make_shared<MobileNetV2>(shape));
       }});
  registry.add(
      {.name = "mobilenet_v3_large", .head = "classifier.3", .make = [](const ModelShape& shape) {
         return make_model_of(std::make_shared<MobileNetV3>(kLarge, 1280, shape));
       }});
  registry.add(
      {.name = "mobilenet_v3_small", .head = "classifier.3", .make = [](const ModelShape& shape) {
         return make_model_of(std::make_shared<MobileNetV3>(kSmall, 1024, shape));
       }});
}

}  // namespace ffkit
