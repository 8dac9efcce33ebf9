#include "ops/deformable_conv.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/stack.h>
#include <torch/nn/init.h>

#include <cmath>

#include "ops/deformable_attention.h"

namespace ffkit {
namespace {

constexpr int64_t kSide = 3;
constexpr int64_t kTaps = kSide * kSide;

// [n] where the taps of the pixels of a row or column have their middle, in pixels of the input.
at::Tensor middles(int64_t n, int64_t stride, const at::TensorOptions& options) {
  return at::arange(n, options) * static_cast<double>(stride);
}

}  // namespace

DeformableConv::DeformableConv(int64_t in, int64_t out, int64_t stride) : stride_(stride) {
  weight_ = register_parameter("weight", at::empty({out, in, kSide, kSide}));
  conv_offset_ = register_module(
      "conv_offset",
      torch::nn::Conv2d(
          torch::nn::Conv2dOptions(in, 3 * kTaps, kSide).stride(stride).padding(kSide / 2)));
  reset();
}

void DeformableConv::reset() {
  const double bound = 1 / std::sqrt(weight_.size(1) * kTaps);
  torch::nn::init::uniform_(weight_, -bound, bound);
  torch::nn::init::zeros_(conv_offset_->weight);
  torch::nn::init::zeros_(conv_offset_->bias);
}

at::Tensor DeformableConv::forward(const at::Tensor& x) {
  const int64_t batch = x.size(0), in = x.size(1), height = x.size(2), width = x.size(3);
  // Channels: y and x of each tap in turn, then a weight of each tap before the sigmoid.
  const at::Tensor beside = conv_offset_(x);
  const int64_t rows = beside.size(2), columns = beside.size(3);
  const at::Tensor taps = beside.permute({0, 2, 3, 1});  // [N, rows, columns, 27]
  const at::Tensor moved = taps.narrow(3, 0, 2 * kTaps).unflatten(3, {kTaps, 2});
  const at::Tensor weights = taps.narrow(3, 2 * kTaps, kTaps).sigmoid();
  const at::TensorOptions options = beside.options();
  const at::Tensor tap = at::arange(kSide, options) - kSide / 2;
  const at::Tensor y = middles(rows, stride_, options).reshape({1, rows, 1, 1}) +
                       tap.repeat_interleave(kSide) + moved.select(4, 0);
  const at::Tensor column = middles(columns, stride_, options).reshape({1, 1, columns, 1}) +
                            tap.repeat({kSide}) + moved.select(4, 1);
  // A tap of a pixel is a query with one point and one head; its channels are what the convolution
  // multiplies.
  const int64_t queries = rows * columns * kTaps;
  const at::Tensor locations = at::stack({(column + 0.5) / static_cast<double>(width),
                                          (y + 0.5) / static_cast<double>(height)},
                                         -1)
                                   .reshape({batch, queries, 1, 1, 1, 2});
  const at::Tensor sampled = deformable_attention(x.flatten(2).transpose(1, 2).unsqueeze(2),
                                                  {{.height = height, .width = width}}, locations,
                                                  weights.reshape({batch, queries, 1, 1, 1}));
  const at::Tensor by_tap = weight_.permute({0, 2, 3, 1}).reshape({weight_.size(0), kTaps * in});
  return at::linear(sampled.reshape({batch, rows * columns, kTaps * in}), by_tap)
      .transpose(1, 2)
      .unflatten(2, {rows, columns});
}

}  // namespace ffkit
