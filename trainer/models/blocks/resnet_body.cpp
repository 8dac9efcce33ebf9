#include "models/blocks/resnet_body.h"

#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <string>
#include <utility>

#include "ops/deformable_conv.h"
#include "ops/recompute.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct BasicBlock : nn::Module {
  static constexpr int64_t kExpansion = 1;

  BasicBlock(int64_t in, int64_t width, int64_t stride, std::shared_ptr<Chain> shortcut,
             bool /*is_deformable*/, const ResNetConfig& /*config*/) {
    conv1 = register_module("conv1", conv_without_bias(in, width, 3, stride));
    bn1 = register_module("bn1", BatchNorm(width));
    conv2 = register_module("conv2", conv_without_bias(width, width, 3));
    bn2 = register_module("bn2", BatchNorm(width));
    if (shortcut) downsample = register_module("downsample", std::move(shortcut));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y));
    y += downsample ? downsample->forward(x) : x;
    return y.relu_();
  }

  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  BatchNorm bn1{nullptr}, bn2{nullptr};
  std::shared_ptr<Chain> downsample;
};

struct BottleneckBlock : nn::Module {
  static constexpr int64_t kExpansion = 4;

  BottleneckBlock(int64_t in, int64_t planes, int64_t stride, std::shared_ptr<Chain> shortcut,
                  bool is_deformable, const ResNetConfig& config) {
    const int64_t width = planes * config.width_per_group / 64 * config.groups;
    const int64_t out = planes * kExpansion;
    const int64_t first_stride = config.strides_first ? stride : 1;
    const int64_t second_stride = config.strides_first ? 1 : stride;
    conv1 = register_module("conv1", conv_without_bias(in, width, 1, first_stride));
    bn1 = register_module("bn1", BatchNorm(width));
    const auto use = [this](auto conv) {
      register_module("conv2", conv);
      conv2 = [conv](const at::Tensor& x) { return conv->forward(x); };
    };
    if (is_deformable) {
      use(std::make_shared<DeformableConv>(width, width, second_stride));
    } else {
      use(conv_without_bias(width, width, 3, second_stride, config.groups).ptr());
    }
    bn2 = register_module("bn2", BatchNorm(width));
    conv3 = register_module("conv3", conv_without_bias(width, out, 1));
    bn3 = register_module("bn3", BatchNorm(out));
    if (shortcut) downsample = register_module("downsample", std::move(shortcut));
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y)).relu_();
    y = bn3(conv3(y));
    y += downsample ? downsample->forward(x) : x;
    return y.relu_();
  }

  nn::Conv2d conv1{nullptr}, conv3{nullptr};
  Function conv2;
  BatchNorm bn1{nullptr}, bn2{nullptr}, bn3{nullptr};
  std::shared_ptr<Chain> downsample;
};

template <typename Block>
std::shared_ptr<Chain> make_stage(int64_t in, size_t index, const ResNetConfig& config) {
  const int64_t planes = config.first_width << index;
  const int64_t stride = index == 0 ? 1 : 2;
  const bool is_deformable = config.is_deformable[index];
  const int64_t out = planes * Block::kExpansion;
  // Made before the block that owns it, as in torchvision: the order of the draws depends on it.
  std::shared_ptr<Chain> shortcut;
  if (stride != 1 || in != out) {
    shortcut = conv_norm({.in = in, .out = out, .kernel = 1, .stride = stride});
  }
  auto stage = std::make_shared<Chain>();
  stage->add(std::make_shared<Block>(in, planes, stride, shortcut, is_deformable, config));
  for (int64_t i = 1; i < config.depths[index]; ++i) {
    stage->add(std::make_shared<Block>(out, planes, 1, nullptr, is_deformable, config));
  }
  return stage;
}

}  // namespace

ResNetBody::ResNetBody(nn::Module& owner, const ResNetConfig& config)
    : expansion_(config.has_bottlenecks ? BottleneckBlock::kExpansion : BasicBlock::kExpansion),
      first_width_(config.first_width) {
  conv1_ = owner.register_module("conv1", conv_without_bias(3, first_width_, 7, 2));
  bn1_ = owner.register_module("bn1", BatchNorm(first_width_));
  int64_t in = first_width_;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const auto make = config.has_bottlenecks ? make_stage<BottleneckBlock> : make_stage<BasicBlock>;
    stages_[i] = owner.register_module("layer" + std::to_string(i + 1), make(in, i, config));
    in = channels(i);
  }
}

std::array<at::Tensor, 4> ResNetBody::forward(const at::Tensor& images) {
  at::Tensor x = bn1_(conv1_(images)).relu_();
  x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
  std::array<at::Tensor, 4> maps;
  for (size_t i = 0; i < stages_.size(); ++i) maps[i] = x = run_stage(*stages_[i], x);
  return maps;
}

at::Tensor ResNetBody::run_stage(Chain& stage, const at::Tensor& x) const {
  if (!has_recompute_) return stage.forward(x);
  at::Tensor y = x;
  const std::vector<std::shared_ptr<nn::Module>> blocks = stage.children();
  for (size_t i = 0; i < blocks.size(); ++i) {
    y = recomputed(stage.steps()[i], y, blocks[i]->parameters());
  }
  return y;
}

}  // namespace ffkit
