#include "sgd.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

namespace ffkit {
namespace {

// `t` as the fused kernel wants it: contiguous. For channels_last that is the same memory seen as NHWC; given as it is, the
// kernel would copy it, update the copy and copy it back.
at::Tensor dense_view(const at::Tensor& t) {
  if (t.dim() == 4 && !t.is_contiguous() && t.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    return t.permute({0, 2, 3, 1});
  }
  return t;
}

// Whether element i of one lies where element i of the other does: the same strides, but for dimensions of size 1.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

}  // namespace

Sgd::Sgd(std::vector<NamedTensor> parameters, SgdOptions options)
    : parameters_(std::move(parameters)), options_(options) {
  if (options_.momentum == 0) return;
  at::NoGradGuard no_grad;
  for (const NamedTensor& p : parameters_) momentum_.push_back({p.name, at::zeros_like(p.tensor)});
}

void Sgd::zero_grad() {
  for (NamedTensor& p : parameters_) p.tensor.mutable_grad().reset();
}

void Sgd::step(double lr) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> weights, gradients, velocities;
  weights.reserve(parameters_.size());
  gradients.reserve(parameters_.size());
  velocities.reserve(momentum_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& w = parameters_[i].tensor;
    at::Tensor g = w.grad();
    if (!g.defined()) continue;
    // The fused kernel walks the memory of all three side by side.
    if (!same_layout(w, g)) g = at::empty_like(w).copy_(g);
    weights.push_back(dense_view(w));
    gradients.push_back(dense_view(g));
    if (!momentum_.empty()) velocities.push_back(dense_view(momentum_[i].tensor));
  }
  at::_fused_sgd_(weights, gradients, velocities, options_.weight_decay, options_.momentum, lr,
                  /*dampening=*/0.0, options_.nesterov, /*maximize=*/false,
                  /*is_first_step=*/false);
}

}  // namespace ffkit
