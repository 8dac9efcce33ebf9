// ResNetBody: ResNet without its head (He et al., "Deep Residual Learning for Image Recognition",
// 2015; the bottlenecks with the stride in the 3x3 convolution), built as torchvision does: modules
// constructed in the same order with the same random draws, under the same names.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>

#include <array>
#include <cstdint>
#include <memory>

#include "distributed/batch_norm.h"
#include "models/blocks/layers.h"

namespace ffkit {

struct ResNetConfig {
  std::array<int64_t, 4> depths;  // blocks of each stage
  bool has_bottlenecks = true;
  int64_t groups = 1;
  int64_t width_per_group = 64;
  int64_t first_width = 64;  // channels of the stem and of the first stage, without its expansion
  // For bottlenecks alone:
  bool strides_first = false;  // the stride in the first 1x1 convolution, as Caffe's ResNet has it
  std::array<bool, 4> is_deformable = {};  // stages whose 3x3 convolutions are DeformableConv
};

class ResNetBody {
 public:
  // Registers conv1, bn1 and layer1 to layer4 with `owner`, which has them from then on.
  ResNetBody(torch::nn::Module& owner, const ResNetConfig& config);

  // The channels of the maps of stage 0 to 3.
  int64_t channels(size_t stage) const { return (first_width_ << stage) * expansion_; }
  // From [N,3,H,W] to the maps of the four stages. Their sides are a 4th, 8th, 16th and 32nd of the
  // pictures', rounded up.
  std::array<at::Tensor, 4> forward(const at::Tensor& images);

  // Whether the activations inside of each block are computed again in the backward pass
  // (ops/recompute.h). Not for batch norms that train: their statistics would count each batch
  // twice.
  void set_recompute(bool on) { has_recompute_ = on; }

 private:
  at::Tensor run_stage(Chain& stage, const at::Tensor& x) const;

  int64_t expansion_, first_width_;
  torch::nn::Conv2d conv1_{nullptr};
  BatchNorm bn1_{nullptr};
  std::array<std::shared_ptr<Chain>, 4> stages_;
  bool has_recompute_ = false;
};

}  // namespace ffkit
