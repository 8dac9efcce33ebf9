// Gradient clipping by global norm.
#pragma once

#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

// Scales all gradients in place by min(1, max_norm / (norm + 1e-6)), where `norm` is the Euclidean
// norm of all of them together: as torch.nn.utils.clip_grad_norm_. `max_norm` > 0. Returns the norm
// before, [] on the gradients' device; does not wait for it. Parameters without a gradient are left
// out; without any the norm is 0.
at::Tensor clip_gradient_norm(const std::vector<NamedTensor>& parameters, double max_norm);

// Its two halves. The norm is of these gradients; scale_gradients() takes one that may be of more.
at::Tensor gradient_norm(const std::vector<NamedTensor>& parameters);
void scale_gradients(const std::vector<NamedTensor>& parameters, const at::Tensor& norm,
                     double max_norm);

}  // namespace ffkit
