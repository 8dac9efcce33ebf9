// FeaturePyramid: maps of one number of channels from those of a backbone (Lin et al., "Feature
// Pyramid Networks for Object Detection", 2017).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <vector>

namespace ffkit {

class FeaturePyramid : public torch::nn::Module {
 public:
  // `in`: channels of each map, from the finest on. More `levels` than that: each further one is a
  // convolution of stride 2 on the one before, after a ReLU from the second of them on.
  FeaturePyramid(const std::vector<int64_t>& in, int64_t out, int64_t levels);

  // [N, in[i], h, w] each, a map half as large as the one before -> `levels` maps [N, out, h, w].
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& maps);

 private:
  torch::nn::ModuleList lateral_;
  torch::nn::ModuleList output_;
};

}  // namespace ffkit
