#include "optim/gradient_clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace ffkit {

at::Tensor clip_gradient_norm(const std::vector<NamedTensor>& parameters, double max_norm) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& p : parameters) {
    if (p.tensor.grad().defined()) gradients.push_back(p.tensor.grad());
  }
  if (gradients.empty()) return at::zeros({});
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  at::_foreach_mul_(gradients, norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1));
  return norm;
}

}  // namespace ffkit
