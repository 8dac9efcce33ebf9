// RootNet: where a person's root joint is, from a crop (Moon et al., "Camera Distance-aware
// Top-down Approach for 3D Multi-person Pose Estimation from a Single RGB Image", ICCV 2019), with
// the parameter names of the published code.
//
//   crop ─▶ backbone (ResNet, a 32nd) ─┬─▶ three transposed convolutions (a 4th) ─▶ map
//                                      │      ─▶ softmax, expectation ─▶ x, y
//                                      └─▶ mean ─▶ gamma; depth = gamma * k
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "models/blocks/resnet_body.h"

namespace ffkit {

struct RootNetConfig : ResNetConfig {
  int64_t deconv_channels = 256;
};
// Throws Error(invalid_argument) for another name than rootnet_archs() has.
RootNetConfig rootnet_config(const std::string& arch);

class RootNetNetwork : public torch::nn::Module {
 public:
  using Observer = std::function<void(const std::string& name, const at::Tensor& value)>;

  explicit RootNetNetwork(const RootNetConfig& config);

  // [N,3,S,S] f32, k [N] -> [N,3] f32: x and y on the map of S / 4 cells a side, counted from 0,
  // and the depth. `observer`, which may be empty, sees what is computed on the way, by the names
  // of the published modules.
  at::Tensor forward(const at::Tensor& images, const at::Tensor& k, const Observer& observer = {});

  const std::shared_ptr<torch::nn::Module>& backbone() const { return backbone_module_; }

 private:
  struct Backbone;
  struct Root;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<torch::nn::Module> backbone_module_;  // the same
  std::shared_ptr<Root> root_;
};

// [N] the mean of |coordinate - target| over x, y and depth; without the depth's where have_depth
// [N] is 0, and 0 where visible [N] is.
at::Tensor rootnet_losses(const at::Tensor& coordinates, const at::Tensor& targets,
                          const at::Tensor& visible, const at::Tensor& have_depth);

}  // namespace ffkit
