// MobileNetV2 (Sandler et al., "Inverted Residuals and Linear Bottlenecks", 2018), MNASNet (Tan et
// al., "Platform-Aware Neural Architecture Search for Mobile", 2018) and MobileNetV3 (Howard et
// al., "Searching for MobileNetV3", 2019) as torchvision builds them, with its initial draws.
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
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

at::Tensor relu6(const at::Tensor& x) {
  return at::relu6(x);
}

at::Tensor hardswish(const at::Tensor& x) {
  return at::hardswish(x);
}

std::shared_ptr<Residual> mobilenet_v2_block(int64_t in, int64_t out, int64_t stride,
                                             int64_t expansion) {
  const int64_t width = in * expansion;
  auto conv = std::make_shared<Chain>();
  if (expansion != 1) {
    conv->add(conv_norm({.in = in, .out = width, .kernel = 1, .activation = relu6}));
  }
  conv->add(conv_norm(
      {.in = width, .out = width, .stride = stride, .groups = width, .activation = relu6}));
  conv->add(conv_without_bias(width, out, 1));
  conv->add(BatchNorm(out));
  return std::make_shared<Residual>("conv", conv, stride == 1 && in == out);
}

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
        features_->add(mobilenet_v2_block(channels, stage.channels, i == 0 ? stage.stride : 1,
                                          stage.expansion));
        channels = stage.channels;
      }
    }
    features_->add(
        conv_norm({.in = channels, .out = kLastChannels, .kernel = 1, .activation = relu6}));
    classifier_->add(nn::Dropout(shape.dropout < 0 ? 0.2 : shape.dropout));
    const nn::Linear head(kLastChannels, shape.num_classes);
    classifier_->add(head);
    add_chains();
    initialise_convolutions(*this);
    initialise_normal(head->weight, head->bias, 0.01);
  }
};

struct MnasNetConfig {
  const char* name;
  double width;  // a factor of the channels of all stages
};
constexpr MnasNetConfig kMnasNets[] = {
    {"mnasnet0_5", 0.5}, {"mnasnet0_75", 0.75}, {"mnasnet1_0", 1.0}, {"mnasnet1_3", 1.3}};

class MnasNet : public ClassifierNet {
 public:
  MnasNet(const MnasNetConfig& config, const ModelShape& shape) {
    const double width = config.width;
    struct StageSizes {
      int64_t channels, kernel, stride, expansion, depth;
    };
    constexpr std::array kStages = {StageSizes{24, 3, 2, 3, 3},  StageSizes{40, 5, 2, 3, 3},
                                    StageSizes{80, 5, 2, 6, 3},  StageSizes{96, 3, 1, 6, 2},
                                    StageSizes{192, 5, 2, 6, 4}, StageSizes{320, 3, 1, 6, 1}};
    constexpr int64_t kLastChannels = 1280;
    const int64_t stem = round_to_eights(32 * width);
    int64_t channels = round_to_eights(16 * width);
    add_conv(*features_, 3, stem, 3, 2, 1, true);
    add_conv(*features_, stem, stem, 3, 1, stem, true);
    add_conv(*features_, stem, channels, 1, 1, 1, false);
    for (const StageSizes& s : kStages) {
      auto stage = std::make_shared<Chain>();
      const int64_t out = round_to_eights(s.channels * width);
      for (int64_t i = 0; i < s.depth; ++i, channels = out) {
        const int64_t stride = i == 0 ? s.stride : 1;
        const int64_t expanded = channels * s.expansion;
        auto block = std::make_shared<Chain>();
        add_conv(*block, channels, expanded, 1, 1, 1, true);
        add_conv(*block, expanded, expanded, s.kernel, stride, expanded, true);
        add_conv(*block, expanded, out, 1, 1, 1, false);
        stage->add(std::make_shared<Residual>("layers", block, stride == 1 && channels == out));
      }
      features_->add(stage);
    }
    add_conv(*features_, channels, kLastChannels, 1, 1, 1, true);
    const nn::Linear head(kLastChannels, shape.num_classes);
    classifier_->add(nn::Dropout(shape.dropout < 0 ? 0.2 : shape.dropout));
    classifier_->add(head);
    add_chains("layers");
    initialise_convolutions(*this);
    nn::init::kaiming_uniform_(head->weight, 0, torch::kFanOut, torch::kSigmoid);
    nn::init::zeros_(head->bias);
  }

 private:
  static void add_conv(Chain& chain, int64_t in, int64_t out, int64_t kernel, int64_t stride,
                       int64_t groups, bool has_relu) {
    chain.add(conv_without_bias(in, out, kernel, stride, groups));
    chain.add(BatchNorm(nn::BatchNormOptions(out).momentum(1 - 0.9997)));
    if (has_relu) chain.add(relu);
  }
};

// A row of tables 1 and 2 of the paper.
struct BlockConfig {
  int64_t in, kernel, expanded, out;
  bool has_squeeze;
  at::Tensor (*activation)(const at::Tensor&);
  int64_t stride;
};

std::shared_ptr<Chain> conv_norm_v3(ConvNormOptions options) {
  options.bn_eps = 0.001;
  options.bn_momentum = 0.01;
  return conv_norm(options);
}

std::shared_ptr<Residual> mobilenet_v3_block(const BlockConfig& c) {
  auto block = std::make_shared<Chain>();
  if (c.expanded != c.in) {
    block->add(
        conv_norm_v3({.in = c.in, .out = c.expanded, .kernel = 1, .activation = c.activation}));
  }
  block->add(conv_norm_v3({.in = c.expanded,
                           .out = c.expanded,
                           .kernel = c.kernel,
                           .stride = c.stride,
                           .groups = c.expanded,
                           .activation = c.activation}));
  if (c.has_squeeze) {
    block->add(std::make_shared<SqueezeExcitation>(
        c.expanded, round_to_eights(c.expanded / 4), relu,
        [](const at::Tensor& x) { return at::hardsigmoid(x); }));
  }
  block->add(conv_norm_v3({.in = c.expanded, .out = c.out, .kernel = 1}));
  return std::make_shared<Residual>("block", block, c.stride == 1 && c.in == c.out);
}

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
struct MobileNetV3Config {
  const char* name;
  std::span<const BlockConfig> blocks;
  int64_t hidden;  // between the two linear layers
};
constexpr MobileNetV3Config kMobileNetV3s[] = {{"mobilenet_v3_large", kLarge, 1280},
                                               {"mobilenet_v3_small", kSmall, 1024}};

class MobileNetV3 : public ClassifierNet {
 public:
  MobileNetV3(const MobileNetV3Config& config, const ModelShape& shape) {
    const std::span<const BlockConfig> blocks = config.blocks;
    features_->add(
        conv_norm_v3({.in = 3, .out = blocks.front().in, .stride = 2, .activation = hardswish}));
    for (const BlockConfig& block : blocks) {
      features_->add(mobilenet_v3_block(block));
    }
    const int64_t channels = 6 * blocks.back().out;
    features_->add(conv_norm_v3(
        {.in = blocks.back().out, .out = channels, .kernel = 1, .activation = hardswish}));
    const nn::Linear first(channels, config.hidden);
    classifier_->add(first);
    classifier_->add(hardswish);
    classifier_->add(nn::Dropout(shape.dropout < 0 ? 0.2 : shape.dropout));
    const nn::Linear head(config.hidden, shape.num_classes);
    classifier_->add(head);
    add_chains();
    initialise_convolutions(*this);
    for (const nn::Linear& linear : {first, head})
      initialise_normal(linear->weight, linear->bias, 0.01);
  }
};

}  // namespace

void register_mobilenet(ModelRegistry& registry) {
  registry.add(
      {.name = "mobilenet_v2", .head = "classifier.1", .make = [](const ModelShape& shape) {
         return make_model_of(std::make_shared<MobileNetV2>(shape));
       }});
  add_models<MnasNet>(registry, kMnasNets, "classifier.1");
  add_models<MobileNetV3>(registry, kMobileNetV3s, "classifier.3");
}

}  // namespace ffkit
