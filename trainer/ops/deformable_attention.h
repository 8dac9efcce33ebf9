// Multi-scale deformable attention (Zhu et al., "Deformable DETR", 2020, equation 3), without its
// linear layers: each query adds up what it samples from the feature maps, at points of its own,
// with weights of its own.
//
//   out[b, q, h*D + d] = sum over levels l and points p of
//       weights[b,q,h,l,p] * bilinear(value[b, level l, h, d], locations[b,q,h,l,p])
//
// A location (x, y) is 0 at the left (upper) border of the map and 1 at the right (lower) one; a
// map is zero outside. As grid_sample() of PyTorch with align_corners=False and
// padding_mode="zeros".
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace ffkit {

// The size of one feature map.
struct MapSize {
  int64_t height = 0;
  int64_t width = 0;
};

// Height and width of each map, and back: as autograd saves them.
std::vector<int64_t> sides_of(const std::vector<MapSize>& levels);
std::vector<MapSize> levels_of(const std::vector<int64_t>& sides);

// value: [B, S, H, D] with S = the pixels of all maps, one map after the other, each in rows;
// levels: L maps; locations: [B, Q, H, L, P, 2]; weights: [B, Q, H, L, P]. Returns [B, Q, H*D], in
// the type of `value`. Gradients for all three. Computes in f64 for f64, else in f32, whatever
// autocast says. A location that is not finite samples nothing. On the CPU, the same values and
// gradients for any number of threads. On a GPU, by kernels of our own where they were built
// (-DFFKIT_CUDA_KERNELS), else by grid_sample(): either way the gradient of `value` is a sum whose
// order, and so its last bits, differ from run to run. With libtorch's deterministic algorithms,
// the kernels' gradient is the same in every run (deformable_value_gradient), and grid_sample()'s
// is refused by libtorch. Throws Error(invalid_argument) when shapes do not fit.
at::Tensor deformable_attention(const at::Tensor& value, const std::vector<MapSize>& levels,
                                const at::Tensor& locations, const at::Tensor& weights);

// The same by grid_sample(), on any device: what our own loops and kernels are compared with, and
// what other devices run.
at::Tensor deformable_attention_by_grid_sample(const at::Tensor& value,
                                               const std::vector<MapSize>& levels,
                                               const at::Tensor& locations,
                                               const at::Tensor& weights);

}  // namespace ffkit
