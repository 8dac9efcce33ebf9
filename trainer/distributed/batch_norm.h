// BatchNorm: torch::nn::BatchNorm2d that can take its statistics over the batches of all processes
// (torch.nn.SyncBatchNorm).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/batchnorm.h>

#include "distributed/communicator.h"

namespace ffkit {

class BatchNormImpl : public torch::nn::BatchNorm2dImpl {
 public:
  using torch::nn::BatchNorm2dImpl::BatchNorm2dImpl;

  // One that is frozen keeps its statistics, too.
  void train(bool on = true) override {
    torch::nn::BatchNorm2dImpl::train(on && (!weight.defined() || weight.requires_grad()));
  }

  // In training, statistics are those of all processes from now on. All must then run the same
  // layers, forward and backward; the shares may have different sizes. `communicator` outlives the
  // module.
  void synchronise(Communicator& communicator) { communicator_ = &communicator; }

  // [N,C,H,W] -> the same.
  at::Tensor forward(const at::Tensor& x);

 private:
  Communicator* communicator_ = nullptr;
};
TORCH_MODULE(BatchNorm);

// (x - mean) / sqrt(var + eps) * weight + bias, with mean and biased variance of each channel over
// the batches of all processes, and the gradients that belong to it; those of weight and bias are
// this process' share. Returns {y, mean, unbiased variance}.
std::array<at::Tensor, 3> synchronised_batch_norm(const at::Tensor& x, const at::Tensor& weight,
                                                  const at::Tensor& bias, double eps,
                                                  Communicator& communicator);

}  // namespace ffkit
