// Modulated deformable convolution (Zhu et al., "Deformable ConvNets v2", 2018): a convolution of 3
// x 3 that looks, for each pixel, at places of its own, each with a weight of its own. A
// convolution beside it computes both from the same map.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/conv.h>

#include <cstdint>

namespace ffkit {

// Parameters: "weight" [out, in, 3, 3], "conv_offset.weight" and "conv_offset.bias", as MMCV's
// ModulatedDeformConv2dPack without a bias of its own.
class DeformableConv : public torch::nn::Module {
 public:
  DeformableConv(int64_t in, int64_t out, int64_t stride);

  // [N, in, H, W] -> [N, out, (H - 1) / stride + 1, (W - 1) / stride + 1]. A place outside of the
  // map counts as 0.
  at::Tensor forward(const at::Tensor& x);

  // Draws the weight; the convolution beside it becomes 0: places are those of an ordinary
  // convolution, each with the weight 1/2.
  void reset();

 private:
  const int64_t stride_;
  at::Tensor weight_;
  torch::nn::Conv2d conv_offset_{nullptr};
};

}  // namespace ffkit
