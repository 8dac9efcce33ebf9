#include "optim/gradient_clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace ffkit {

namespace {

std::vector<at::Tensor> gradients_of(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& p : parameters) {
    if (p.tensor.grad().defined()) gradients.push_back(p.tensor.grad());
  }
  return gradients;
}

}  // namespace

at::Tensor gradient_norm(const std::vector<NamedTensor>& parameters) {
  at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return at::zeros({});
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
}

void scale_gradients(const std::vector<NamedTensor>& parameters, const at::Tensor& norm,
                     double max_norm) {
  at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return;
  at::_foreach_mul_(gradients, norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1));
}

at::Tensor clip_gradient_norm(const std::vector<NamedTensor>& parameters, double max_norm) {
  const at::Tensor norm = gradient_norm(parameters);
  scale_gradients(parameters, norm, max_norm);
  return norm;
}

}  // namespace ffkit
