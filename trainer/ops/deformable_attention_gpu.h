// Deformable attention by kernels of our own on a GPU. They are in the module of
// device/cuda_module.h, where it was built with nvcc.
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

}  // namespace ffkit
