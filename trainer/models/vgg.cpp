// AlexNet (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014) and
// VGG (Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition", 2014) as torchvision builds them, with its initial draws.
#include <ATen/ops/max_pool2d.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "distributed/batch_norm.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

constexpr int64_t kHidden = 4096;  // of both networks

class AlexNet : public ClassifierNet {
 public:
  explicit AlexNet(const ModelShape& shape) {
    min_size_ = 63;
    pooled_side_ = 6;
    const auto add = [&](const nn::Conv2dOptions& conv, bool pools) {
      features_->add(nn::Conv2d(conv));
      features_->add(relu);
      if (pools) features_->add([](const at::Tensor& x) { return at::max_pool2d(x, 3, 2); });
    };
    add(nn::Conv2dOptions(3, 64, 11).stride(4).padding(2), true);
    add(nn::Conv2dOptions(64, 192, 5).padding(2), true);
    add(nn::Conv2dOptions(192, 384, 3).padding(1), false);
    add(nn::Conv2dOptions(384, 256, 3).padding(1), false);
    add(nn::Conv2dOptions(256, 256, 3).padding(1), true);
    const double dropout = shape.dropout < 0 ? 0.5 : shape.dropout;
    classifier_->add(nn::Dropout(dropout));
    classifier_->add(nn::Linear(256 * pooled_side_ * pooled_side_, kHidden));
    classifier_->add(relu);
    classifier_->add(nn::Dropout(dropout));
    classifier_->add(nn::Linear(kHidden, kHidden));
    classifier_->add(relu);
    classifier_->add(nn::Linear(kHidden, shape.num_classes));
    add_chains();
  }
};

struct VggConfig {
  const char* name;
  std::array<int64_t, 5> depths;  // convolutions of each stage
  bool has_norm;
};
constexpr VggConfig kVggs[] = {
    {"vgg11", {1, 1, 2, 2, 2}, false}, {"vgg11_bn", {1, 1, 2, 2, 2}, true},
    {"vgg13", {2, 2, 2, 2, 2}, false}, {"vgg13_bn", {2, 2, 2, 2, 2}, true},
    {"vgg16", {2, 2, 3, 3, 3}, false}, {"vgg16_bn", {2, 2, 3, 3, 3}, true},
    {"vgg19", {2, 2, 4, 4, 4}, false}, {"vgg19_bn", {2, 2, 4, 4, 4}, true}};
constexpr std::array<int64_t, 5> kVggChannels = {64, 128, 256, 512, 512};

class Vgg : public ClassifierNet {
 public:
  Vgg(const VggConfig& config, const ModelShape& shape) {
    min_size_ = 32;
    pooled_side_ = 7;
    int64_t in = 3;
    for (size_t i = 0; i < kVggChannels.size(); ++i) {
      for (int64_t j = 0; j < config.depths[i]; ++j, in = kVggChannels[i]) {
        features_->add(nn::Conv2d(nn::Conv2dOptions(in, kVggChannels[i], 3).padding(1)));
        if (config.has_norm) features_->add(BatchNorm(kVggChannels[i]));
        features_->add(relu);
      }
      features_->add([](const at::Tensor& x) { return at::max_pool2d(x, 2, 2); });
    }
    const std::array linears = {nn::Linear(in * pooled_side_ * pooled_side_, kHidden),
                                nn::Linear(kHidden, kHidden),
                                nn::Linear(kHidden, shape.num_classes)};
    for (const nn::Linear& linear : linears) {
      if (classifier_->size() > 0) {
        classifier_->add(relu);
        classifier_->add(nn::Dropout(shape.dropout < 0 ? 0.5 : shape.dropout));
      }
      classifier_->add(linear);
    }
    add_chains();
    initialise_convolutions(*this);
    for (const nn::Linear& linear : linears) initialise_normal(linear->weight, linear->bias, 0.01);
  }
};

}  // namespace

void register_vgg(ModelRegistry& registry) {
  registry.add({.name = "alexnet", .head = "classifier.6", .make = [](const ModelShape& shape) {
                  return make_model_of(std::make_shared<AlexNet>(shape));
                }});
  add_models<Vgg>(registry, kVggs, "classifier.6");
}

}  // namespace ffkit
