// MobileNetV2 (Sandler et al., "Inverted Residuals and Linear Bottlenecks", 2018) as torchvision
// builds it, with its initial draws.
#include <ATen/ops/relu6.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "distributed/batch_norm.h"
#include "model/model_registry.h"
#include "models/blocks/net.h"

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

}  // namespace

void register_mobilenet_v2(ModelRegistry& registry) {
  registry.add(
      {.name = "mobilenet_v2", .head = "classifier.1", .make = [](const ModelShape& shape) {
         return make_model_of(std::make_shared<MobileNetV2>(shape));
       }});
}

}  // namespace ffkit
