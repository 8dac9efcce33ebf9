// EfficientNet-B0 (Tan and Le, "EfficientNet", 2019) as torchvision builds it, with its initial
// draws.
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "model/model_registry.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

// A row of table 1 of the paper.
struct EfficientNetStage {
  int64_t expansion, kernel, stride, in, out, depth;
};
constexpr std::array kEfficientNetStages = {
    EfficientNetStage{1, 3, 1, 32, 16, 1},  EfficientNetStage{6, 3, 2, 16, 24, 2},
    EfficientNetStage{6, 5, 2, 24, 40, 2},  EfficientNetStage{6, 3, 2, 40, 80, 3},
    EfficientNetStage{6, 5, 1, 80, 112, 3}, EfficientNetStage{6, 5, 2, 112, 192, 4},
    EfficientNetStage{6, 3, 1, 192, 320, 1}};
constexpr double kDropout = 0.2;
// Of a block behind the last one, rising linearly from 0.
constexpr double kEfficientNetStochasticDepth = 0.2;

at::Tensor silu(const at::Tensor& x) {
  return at::silu(x);
}

struct MBConv : nn::Module {
  MBConv(const EfficientNetStage& s, int64_t in, int64_t stride, double drop_probability_)
      : has_shortcut(stride == 1 && in == s.out), drop_probability(drop_probability_) {
    const int64_t width = in * s.expansion;
    block = std::make_shared<Chain>();
    if (s.expansion != 1) {
      block->add(conv_norm({.in = in, .out = width, .kernel = 1, .activation = silu}));
    }
    block->add(conv_norm({.in = width,
                          .out = width,
                          .kernel = s.kernel,
                          .stride = stride,
                          .groups = width,
                          .activation = silu}));
    block->add(
        std::make_shared<SqueezeExcitation>(width, std::max(int64_t{1}, in / 4), silu,
                                            [](const at::Tensor& x) { return at::sigmoid(x); }));
    block->add(conv_norm({.in = width, .out = s.out, .kernel = 1}));
    register_module("block", block);
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = block->forward(x);
    return has_shortcut ? stochastic_depth(y, drop_probability, is_training()) + x : y;
  }

  bool has_shortcut;
  double drop_probability;
  std::shared_ptr<Chain> block;
};

class EfficientNet : public ClassifierNet {
 public:
  explicit EfficientNet(const ModelShape& shape) {
    features_->add(conv_norm(
        {.in = 3, .out = kEfficientNetStages.front().in, .stride = 2, .activation = silu}));
    int64_t num_blocks = 0;
    for (const EfficientNetStage& s : kEfficientNetStages) num_blocks += s.depth;
    int64_t block = 0;
    for (const EfficientNetStage& s : kEfficientNetStages) {
      auto stage = std::make_shared<Chain>();
      for (int64_t i = 0; i < s.depth; ++i, ++block) {
        stage->add(std::make_shared<MBConv>(s, i == 0 ? s.in : s.out, i == 0 ? s.stride : 1,
                                            kEfficientNetStochasticDepth * block / num_blocks));
      }
      features_->add(stage);
    }
    const int64_t channels = 4 * kEfficientNetStages.back().out;
    features_->add(conv_norm(
        {.in = kEfficientNetStages.back().out, .out = channels, .kernel = 1, .activation = silu}));
    classifier_->add(nn::Dropout(shape.dropout < 0 ? kDropout : shape.dropout));
    const nn::Linear head(channels, shape.num_classes);
    classifier_->add(head);
    register_chains();
    initialise_convolutions(*this);
    const double range = 1 / std::sqrt(shape.num_classes);
    nn::init::uniform_(head->weight, -range, range);
    nn::init::zeros_(head->bias);
  }
};

}  // namespace

void register_efficientnet(ModelRegistry& registry) {
  registry.add(
      {.name = "efficientnet_b0", .head = "classifier.1", .make = [](const ModelShape& shape) {
         return make_model_of(std::make_shared<EfficientNet>(shape));
       }});
}

}  // namespace ffkit
