// SqueezeNet (Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters", 2016)
// as torchvision builds it, with its initial draws.
#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>

#include <array>

#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct SqueezeNetConfig {
  const char* name;
  int64_t channels, kernel;  // of the first convolution
  // Squeezed channels of each block; 0: a pooling. A block gives eight times as many.
  std::array<int64_t, 11> blocks;
};
constexpr SqueezeNetConfig kSqueezeNets[] = {
    {"squeezenet1_0", 96, 7, {0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64}},
    {"squeezenet1_1", 64, 3, {0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64}}};

struct Fire : nn::Module {
  Fire(int64_t in, int64_t squeezed) {
    const int64_t out = 4 * squeezed;
    squeeze = register_module("squeeze", nn::Conv2d(nn::Conv2dOptions(in, squeezed, 1)));
    expand1x1 = register_module("expand1x1", nn::Conv2d(nn::Conv2dOptions(squeezed, out, 1)));
    expand3x3 =
        register_module("expand3x3", nn::Conv2d(nn::Conv2dOptions(squeezed, out, 3).padding(1)));
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = squeeze(x).relu();
    return at::cat({expand1x1(y).relu(), expand3x3(y).relu()}, 1);
  }

  nn::Conv2d squeeze{nullptr}, expand1x1{nullptr}, expand3x3{nullptr};
};

class SqueezeNet : public ClassifierNet {
 public:
  SqueezeNet(const SqueezeNetConfig& config, const ModelShape& shape) {
    min_size_ = 21;
    features_->add(nn::Conv2d(nn::Conv2dOptions(3, config.channels, config.kernel).stride(2)));
    features_->add(relu);
    int64_t channels = config.channels;
    for (const int64_t squeezed : config.blocks) {
      if (squeezed == 0) {
        features_->add([](const at::Tensor& x) {
          return at::max_pool2d(x, 3, 2, /*padding=*/0, /*dilation=*/1, /*ceil_mode=*/true);
        });
      } else {
        features_->add(std::make_shared<Fire>(channels, squeezed));
        channels = 8 * squeezed;
      }
    }
    const nn::Conv2d head(nn::Conv2dOptions(channels, shape.num_classes, 1));
    classifier_->add(nn::Dropout(shape.dropout < 0 ? 0.5 : shape.dropout));
    classifier_->add(head);
    classifier_->add(relu);
    add("features", features_);
    add("classifier", classifier_);
    add(global_average);
    for_convolutions(*this, [&](nn::Conv2dImpl& conv) {
      if (&conv == head.get()) {
        nn::init::normal_(conv.weight, 0, 0.01);
      } else {
        nn::init::kaiming_uniform_(conv.weight);
      }
      nn::init::zeros_(conv.bias);
    });
  }
};

}  // namespace

void register_squeezenet(ModelRegistry& registry) {
  add_models<SqueezeNet>(registry, kSqueezeNets, "classifier.1");
}

}  // namespace ffkit
