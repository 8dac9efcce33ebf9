// EfficientNet (Tan and Le, "EfficientNet", 2019) and its second version (Tan and Le,
// "EfficientNetV2", 2021) as torchvision builds them, with its initial draws.
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

// A row of table 1 of the first paper, or of table 4 of the second.
struct EfficientNetStage {
  int64_t expansion, kernel, stride, in, out, depth;
  bool is_fused = false;  // without a depthwise convolution
};
using Stages = std::span<const EfficientNetStage>;

constexpr EfficientNetStage kStagesOfB[] = {
    {1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},  {6, 3, 2, 40, 80, 3},
    {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1}};
constexpr EfficientNetStage kStagesOfV2S[] = {
    {1, 3, 1, 24, 24, 2, true}, {4, 3, 2, 24, 48, 4, true}, {4, 3, 2, 48, 64, 4, true},
    {4, 3, 2, 64, 128, 6},      {6, 3, 1, 128, 160, 9},     {6, 3, 2, 160, 256, 15}};
constexpr EfficientNetStage kStagesOfV2M[] = {
    {1, 3, 1, 24, 24, 3, true}, {4, 3, 2, 24, 48, 5, true}, {4, 3, 2, 48, 80, 5, true},
    {4, 3, 2, 80, 160, 7},      {6, 3, 1, 160, 176, 14},    {6, 3, 2, 176, 304, 18},
    {6, 3, 1, 304, 512, 5}};
constexpr EfficientNetStage kStagesOfV2L[] = {
    {1, 3, 1, 32, 32, 4, true}, {4, 3, 2, 32, 64, 7, true}, {4, 3, 2, 64, 96, 7, true},
    {4, 3, 2, 96, 192, 10},     {6, 3, 1, 192, 224, 19},    {6, 3, 2, 224, 384, 25},
    {6, 3, 1, 384, 640, 7}};

struct EfficientNetConfig {
  const char* name;
  double width, depth;  // factors of the stages' channels and depths
  double dropout;
  double bn_eps = 1e-5, bn_momentum = 0.1;
  Stages stages = kStagesOfB;
  int64_t last_channels = 0;  // 0: four times those of the last stage
};
constexpr EfficientNetConfig kEfficientNets[] = {
    {"efficientnet_b0", 1.0, 1.0, 0.2},
    {"efficientnet_b1", 1.0, 1.1, 0.2},
    {"efficientnet_b2", 1.1, 1.2, 0.3},
    {"efficientnet_b3", 1.2, 1.4, 0.3},
    {"efficientnet_b4", 1.4, 1.8, 0.4},
    {"efficientnet_b5", 1.6, 2.2, 0.4, 1e-3, 0.01},
    {"efficientnet_b6", 1.8, 2.6, 0.5, 1e-3, 0.01},
    {"efficientnet_b7", 2.0, 3.1, 0.5, 1e-3, 0.01},
    {"efficientnet_v2_s", 1, 1, 0.2, 1e-3, 0.1, kStagesOfV2S, 1280},
    {"efficientnet_v2_m", 1, 1, 0.3, 1e-3, 0.1, kStagesOfV2M, 1280},
    {"efficientnet_v2_l", 1, 1, 0.4, 1e-3, 0.1, kStagesOfV2L, 1280},
};
// Of a block behind the last one, rising linearly from 0.
constexpr double kEfficientNetStochasticDepth = 0.2;

at::Tensor silu(const at::Tensor& x) {
  return at::silu(x);
}

class EfficientNet : public ClassifierNet {
 public:
  EfficientNet(const EfficientNetConfig& config, const ModelShape& shape) : config_(config) {
    add_conv_norm(*features_,
                  {.in = 3, .out = scaled(config.stages[0].in), .stride = 2, .activation = silu});
    int64_t num_blocks = 0;
    for (const EfficientNetStage& s : config.stages) num_blocks += depth_of(s);
    int64_t block = 0;
    for (const EfficientNetStage& s : config.stages) {
      auto stage = std::make_shared<Chain>();
      for (int64_t i = 0; i < depth_of(s); ++i, ++block) {
        stage->add(make_block(s, scaled(i == 0 ? s.in : s.out), i == 0 ? s.stride : 1,
                              kEfficientNetStochasticDepth * block / num_blocks));
      }
      features_->add(stage);
    }
    const int64_t last = scaled(config.stages.back().out);
    const int64_t channels = config.last_channels > 0 ? config.last_channels : 4 * last;
    add_conv_norm(*features_, {.in = last, .out = channels, .kernel = 1, .activation = silu});
    classifier_->add(nn::Dropout(shape.dropout < 0 ? config.dropout : shape.dropout));
    const nn::Linear head(channels, shape.num_classes);
    classifier_->add(head);
    add_chains();
    initialise_convolutions(*this);
    const double range = 1 / std::sqrt(shape.num_classes);
    nn::init::uniform_(head->weight, -range, range);
    nn::init::zeros_(head->bias);
  }

 private:
  int64_t scaled(int64_t channels) const { return round_to_eights(channels * config_.width); }
  int64_t depth_of(const EfficientNetStage& s) const {
    return static_cast<int64_t>(std::ceil(s.depth * config_.depth));
  }
  void add_conv_norm(Chain& chain, ConvNormOptions options) const {
    options.bn_eps = config_.bn_eps;
    options.bn_momentum = config_.bn_momentum;
    chain.add(conv_norm(options));
  }

  std::shared_ptr<Residual> make_block(const EfficientNetStage& s, int64_t in, int64_t stride,
                                       double drop_probability) const {
    const int64_t width = in * s.expansion;
    const int64_t out = scaled(s.out);
    const bool expands = s.expansion != 1;
    auto block = std::make_shared<Chain>();
    if (s.is_fused) {
      add_conv_norm(*block, {.in = in,
                             .out = expands ? width : out,
                             .kernel = s.kernel,
                             .stride = stride,
                             .activation = silu});
    } else {
      if (expands) add_conv_norm(*block, {.in = in, .out = width, .kernel = 1, .activation = silu});
      add_conv_norm(*block, {.in = width,
                             .out = width,
                             .kernel = s.kernel,
                             .stride = stride,
                             .groups = width,
                             .activation = silu});
      block->add(
          std::make_shared<SqueezeExcitation>(width, std::max(int64_t{1}, in / 4), silu,
                                              [](const at::Tensor& x) { return at::sigmoid(x); }));
    }
    if (expands || !s.is_fused) add_conv_norm(*block, {.in = width, .out = out, .kernel = 1});
    return std::make_shared<Residual>("block", block, stride == 1 && in == out, drop_probability);
  }

  EfficientNetConfig config_;
};

}  // namespace

void register_efficientnet(ModelRegistry& registry) {
  add_models<EfficientNet>(registry, kEfficientNets, "classifier.1");
}

}  // namespace ffkit
