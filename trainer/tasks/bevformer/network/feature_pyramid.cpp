#include "tasks/bevformer/network/feature_pyramid.h"

#include <ATen/ops/relu.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <torch/nn/init.h>

#include <memory>

namespace ffkit {
namespace {

// Its parameters are named "conv.weight" and "conv.bias", as those of MMCV's ConvModule.
struct PyramidConv : torch::nn::Module {
  PyramidConv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    conv = register_module(
        "conv", torch::nn::Conv2d(
                    torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2)));
    torch::nn::init::xavier_uniform_(conv->weight);
    torch::nn::init::zeros_(conv->bias);
  }
  at::Tensor forward(const at::Tensor& x) { return conv(x); }

  torch::nn::Conv2d conv{nullptr};
};

}  // namespace

FeaturePyramid::FeaturePyramid(const std::vector<int64_t>& in, int64_t out, int64_t levels) {
  lateral_ = register_module("lateral_convs", torch::nn::ModuleList());
  output_ = register_module("fpn_convs", torch::nn::ModuleList());
  for (const int64_t channels : in) {
    lateral_->push_back(std::make_shared<PyramidConv>(channels, out, 1, 1));
  }
  for (int64_t i = 0; i < levels; ++i) {
    const bool is_further = i >= std::ssize(in);
    output_->push_back(std::make_shared<PyramidConv>(out, out, 3, is_further ? 2 : 1));
  }
}

std::vector<at::Tensor> FeaturePyramid::forward(const std::vector<at::Tensor>& maps) {
  std::vector<at::Tensor> sums;
  for (size_t i = 0; i < maps.size(); ++i) {
    sums.push_back(lateral_->ptr<PyramidConv>(i)->forward(maps[i]));
  }
  for (size_t i = sums.size() - 1; i > 0; --i) {
    const at::Tensor& finer = sums[i - 1];
    sums[i - 1] = finer + at::upsample_nearest2d(sums[i], finer.sizes().slice(2));
  }
  std::vector<at::Tensor> out;
  for (size_t i = 0; i < output_->size(); ++i) {
    const bool is_further = i >= sums.size();
    const at::Tensor from = !is_further        ? sums[i]
                            : i == sums.size() ? out.back()
                                               : at::relu(out.back());
    out.push_back(output_->ptr<PyramidConv>(i)->forward(from));
  }
  return out;
}

}  // namespace ffkit
