// Recomputation: what a part of a network computes inside is not kept for the backward pass, but
// computed a second time there. It takes less memory, and about a third more time (Chen et al.,
// "Training Deep Nets with Sublinear Memory Cost", 2016; torch.utils.checkpoint).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace ffkit {

// function(input), with gradients of `input` and of `parameters`, which are all that `function`
// uses. It must give the same tensor each time: no random numbers, no state that it changes.
// Without gradients it is called once, as it is.
at::Tensor recomputed(std::function<at::Tensor(const at::Tensor&)> function,
                      const at::Tensor& input, const std::vector<at::Tensor>& parameters);

}  // namespace ffkit
