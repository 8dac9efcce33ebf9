// Deformable attention by kernels of our own on a GPU. They are in the module of
// device/device.h, where it was built with nvcc.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/deformable_attention.h"
#include "ops/deformable_attention_threads.h"

namespace ffkit {

// Shapes of all three functions: as deformable_attention(), which has checked them.

// The argument of the kernels. At most kMostGpuLevels maps.
GpuAttentionSizes gpu_sizes(const at::Tensor& value, const std::vector<MapSize>& levels,
                            const at::Tensor& weights);

// Whether attend_on_gpu() can do this: a GPU's tensor of a type that the kernels know, few enough
// maps, and a module with kernels.
bool can_attend_on_gpu(const at::Tensor& value, const std::vector<MapSize>& levels);

// As deformable_attention(), with gradients. Throws Error(unsupported) when CUDA refuses a kernel.
at::Tensor attend_on_gpu(const at::Tensor& value, const std::vector<MapSize>& levels,
                         const at::Tensor& locations, const at::Tensor& weights);

// The gradient of deformable attention's value as sums of one order, for --deterministic on a GPU.
// The kernels add with atomics, in the order in which threads come.
//
// Arguments as of deformable_attention(), of any device; out_gradient: [B, Q, H*D]. Returns
// [B, S, H, D], in the type of `weights`. The same bits in every run if libtorch's deterministic
// algorithms are on. Several times slower than the kernels: it calls index_add() 4*L*P times.
at::Tensor deformable_value_gradient(const at::Tensor& value, const std::vector<MapSize>& levels,
                                     const at::Tensor& locations, const at::Tensor& weights,
                                     const at::Tensor& out_gradient);

}  // namespace ffkit
