// Comparing with numbers that were printed elsewhere: in float64, the processor's kernels agree.
#pragma once

#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit::testing {

// Turns the parameters and buffers of `model` into float64.
inline void compute_in_float64(const Model& model) {
  std::vector<NamedTensor> tensors = model.parameters();
  for (const NamedTensor& buffer : model.buffers()) tensors.push_back(buffer);
  for (NamedTensor& t : tensors) {
    if (t.tensor.is_floating_point()) t.tensor.set_data(t.tensor.detach().to(at::kDouble));
  }
}

}  // namespace ffkit::testing
