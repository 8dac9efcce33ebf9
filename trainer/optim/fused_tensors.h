// Tensors as libtorch's fused optimiser kernels take them.
#pragma once

#include <array>
#include <vector>

#include "optim/optimizer.h"

namespace ffkit {

// One list a role, in the order of the parameters that have a gradient.
template <size_t NumStates>
struct FusedTensors {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> gradients;
  std::array<std::vector<at::Tensor>, NumStates> states;
};

// `t` as the fused kernels want it: contiguous. For channels_last that is the same memory seen as
// NHWC; given as it is, the kernel would copy it, update the copy and copy it back.
at::Tensor dense_view(const at::Tensor& t);
// The gradient of `w` with its elements in the order of w's memory; a copy only where they are not.
at::Tensor gradient_in_layout_of(const at::Tensor& w);

// The kernels walk the memory of weight, gradient and states side by side. `states` are lists over
// all parameters of the group; an empty one stays empty.
template <size_t NumStates>
FusedTensors<NumStates> fused_tensors(
    const ParameterGroup& group,
    const std::array<const std::vector<at::Tensor>*, NumStates>& states) {
  FusedTensors<NumStates> out;
  for (size_t i = 0; i < group.parameters.size(); ++i) {
    const at::Tensor& w = group.parameters[i].tensor;
    if (!w.grad().defined()) continue;
    out.weights.push_back(dense_view(w));
    out.gradients.push_back(dense_view(gradient_in_layout_of(w)));
    for (size_t s = 0; s < NumStates; ++s) {
      if (!states[s]->empty()) out.states[s].push_back(dense_view((*states[s])[i]));
    }
  }
  return out;
}

}  // namespace ffkit
