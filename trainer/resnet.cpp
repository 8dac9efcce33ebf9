#include "resnet.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <array>

namespace ffkit {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BasicBlock : nn::Module {
  static constexpr int64_t kExpansion = 1;

  BasicBlock(int64_t in, int64_t width, int64_t stride, nn::Sequential shortcut) {
    conv1 = register_module("conv1", conv(in, width, 3, stride));
    bn1 = register_module("bn1", nn::BatchNorm2d(width));
    conv2 = register_module("conv2", conv(width, width, 3));
    bn2 = register_module("bn2", nn::BatchNorm2d(width));
    if (shortcut) downsample = register_module("downsample", std::move(shortcut));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y));
    y += downsample ? downsample->forward(x) : x;
    return y.relu_();
  }

  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::BatchNorm2d bn1{nullptr}, bn2{nullptr};
  nn::Sequential downsample{nullptr};
};

struct Bottleneck : nn::Module {
  static constexpr int64_t kExpansion = 4;

  Bottleneck(int64_t in, int64_t width, int64_t stride, nn::Sequential shortcut) {
    conv1 = register_module("conv1", conv(in, width, 1));
    bn1 = register_module("bn1", nn::BatchNorm2d(width));
    conv2 = register_module("conv2", conv(width, width, 3, stride));
    bn2 = register_module("bn2", nn::BatchNorm2d(width));
    conv3 = register_module("conv3", conv(width, width * kExpansion, 1));
    bn3 = register_module("bn3", nn::BatchNorm2d(width * kExpansion));
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
  nn::BatchNorm2d bn1{nullptr}, bn2{nullptr}, bn3{nullptr};
  nn::Sequential downsample{nullptr};
};

struct ResNet : nn::Module {
  template <typename Block>
  static std::shared_ptr<ResNet> make(const std::array<int64_t, 4>& depths, int64_t num_classes) {
    auto net = std::make_shared<ResNet>();
    net->conv1 = net->register_module(
        "conv1", nn::Conv2d(nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false)));
    net->bn1 = net->register_module("bn1", nn::BatchNorm2d(64));
    int64_t channels = 64;
    for (size_t i = 0; i < depths.size(); ++i) {
      const int64_t width = int64_t{64} << i;
      net->layers[i] =
          net->register_module("layer" + std::to_string(i + 1),
                               make_layer<Block>(channels, width, depths[i], i == 0 ? 1 : 2));
      channels = width * Block::kExpansion;
    }
    net->fc = net->register_module("fc", nn::Linear(channels, num_classes));
    net->initialise();
    return net;
  }

  template <typename Block>
  static nn::Sequential make_layer(int64_t in, int64_t width, int64_t depth, int64_t stride) {
    const int64_t out = width * Block::kExpansion;
    // Made before the block that owns it, as in torchvision: the order of the draws depends on it.
    nn::Sequential shortcut{nullptr};
    if (stride != 1 || in != out) {
      shortcut = nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out));
    }
    nn::Sequential layer;
    layer->push_back(std::make_shared<Block>(in, width, stride, shortcut));
    for (int64_t i = 1; i < depth; ++i) {
      layer->push_back(std::make_shared<Block>(out, width, 1, nn::Sequential{nullptr}));
    }
    return layer;
  }

  // Batch norm modules already start at weight 1 and bias 0.
  void initialise() {
    for (const std::shared_ptr<nn::Module>& module : modules()) {
      if (auto* c = module->as<nn::Conv2dImpl>()) {
        nn::init::kaiming_normal_(c->weight, 0.0, torch::kFanOut, torch::kReLU);
      }
    }
  }

  at::Tensor forward(const at::Tensor& images) {
    at::Tensor x = bn1(conv1(images)).relu_();
    x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (nn::Sequential& layer : layers) x = layer->forward(x);
    return fc(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  nn::Conv2d conv1{nullptr};
  nn::BatchNorm2d bn1{nullptr};
  std::array<nn::Sequential, 4> layers{nn::Sequential{nullptr}, nn::Sequential{nullptr},
                                       nn::Sequential{nullptr}, nn::Sequential{nullptr}};
  nn::Linear fc{nullptr};
};

class ResNetModel : public Model {
 public:
  explicit ResNetModel(std::shared_ptr<ResNet> net) : net_(std::move(net)) {}

  at::Tensor forward(const at::Tensor& images) override { return net_->forward(images); }
  void set_training(bool on) override { net_->train(on); }

  void use_channels_last() override {
    at::NoGradGuard no_grad;
    for (at::Tensor& p : net_->parameters()) {
      // Module::to() knows no memory format.
      if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }

  std::vector<NamedTensor> parameters() const override { return list(net_->named_parameters()); }
  std::vector<NamedTensor> buffers() const override { return list(net_->named_buffers()); }

 private:
  static std::vector<NamedTensor> list(const torch::OrderedDict<std::string, at::Tensor>& dict) {
    std::vector<NamedTensor> out;
    for (const auto& item : dict) out.push_back({item.key(), item.value()});
    return out;
  }

  std::shared_ptr<ResNet> net_;
};

std::shared_ptr<ResNet> make_net(Arch arch, int64_t num_classes) {
  switch (arch) {
    case Arch::resnet18:
      return ResNet::make<BasicBlock>({2, 2, 2, 2}, num_classes);
    case Arch::resnet34:
      return ResNet::make<BasicBlock>({3, 4, 6, 3}, num_classes);
    case Arch::resnet50:
      break;
  }
  return ResNet::make<Bottleneck>({3, 4, 6, 3}, num_classes);
}

}  // namespace

std::unique_ptr<Model> make_resnet(Arch arch, int64_t num_classes) {
  return std::make_unique<ResNetModel>(make_net(arch, num_classes));
}

}  // namespace ffkit
