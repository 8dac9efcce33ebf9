// The gradient of deformable attention's value as sums of one order, for --deterministic on a GPU.
// The kernels add with atomics, in the order in which threads come.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/deformable_attention.h"

namespace ffkit {

// Arguments as of deformable_attention(), of any device; out_gradient: [B, Q, H*D]. Returns
// [B, S, H, D], in the type of `weights`. The same bits in every run if libtorch's deterministic
// algorithms are on. Several times slower than the kernels: it calls index_add() 4*L*P times.
at::Tensor deformable_value_gradient(const at::Tensor& value, const std::vector<MapSize>& levels,
                                     const at::Tensor& locations, const at::Tensor& weights,
                                     const at::Tensor& out_gradient);

}  // namespace ffkit
