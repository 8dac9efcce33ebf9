// The kernels of deformable attention. No header of libtorch: nvcc sees this file alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "trainer/ops/deformable_attention_threads.h"

namespace ffkit {
namespace {

// A group of neighbouring threads of a warp.
class WarpLanes {
 public:
  __device__ explicit WarpLanes(int count)
      : count_(count),
        mask_((count == kMostLanes ? ~0U : (1U << count) - 1U)
              << (threadIdx.x % kMostLanes / count * count)) {}
  __device__ int count() const { return count_; }
  template <typename T>
  __device__ T sum(T x) const {
    for (int offset = count_ / 2; offset > 0; offset /= 2) {
      x += __shfl_xor_sync(mask_, x, offset);
    }
    return x;
  }
  template <typename T>
  __device__ void add(T* to, T x) const {
    atomicAdd(to, x);
  }

 private:
  int count_;
  unsigned mask_;
};

__device__ int64_t own_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ int64_t all_threads() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

template <typename Value, typename T>
__global__ void attend_kernel(const __grid_constant__ GpuAttentionSizes sizes,
                              const __grid_constant__ GpuAttentionArrays<Value, T> arrays,
                              int64_t num_items) {
  attend_thread(sizes, arrays, num_items, own_thread(), all_threads());
}

template <typename Value, typename T>
__global__ void give_back_kernel(const __grid_constant__ GpuAttentionSizes sizes,
                                 const __grid_constant__ GpuAttentionArrays<Value, T> arrays,
                                 int64_t num_items, int num_lanes) {
  give_back_thread(sizes, arrays, num_items, own_thread(), all_threads(), WarpLanes(num_lanes));
}

template <typename Value, typename T>
GpuAttentionArrays<Value, T> arrays_of(const GpuAttentionCall& c) {
  return {static_cast<const Value*>(c.value),        static_cast<const T*>(c.locations),
          static_cast<const T*>(c.weights),          static_cast<Value*>(c.out),
          static_cast<const Value*>(c.out_gradient), static_cast<T*>(c.value_gradient),
          static_cast<T*>(c.location_gradient),      static_cast<T*>(c.weight_gradient)};
}

template <typename Value, typename T>
void launch(const GpuAttentionCall& call, cudaStream_t stream, bool is_forward) {
  const GpuAttentionSizes& s = call.sizes;
  const int64_t items = is_forward ? num_forward_items(s) : num_backward_items(s);
  const GpuGrid grid = gpu_grid(items);
  if (grid.blocks == 0) return;
  const GpuAttentionArrays<Value, T> arrays = arrays_of<Value, T>(call);
  if (is_forward) {
    attend_kernel<Value, T><<<grid.blocks, grid.threads, 0, stream>>>(s, arrays, items);
  } else {
    give_back_kernel<Value, T>
        <<<grid.blocks, grid.threads, 0, stream>>>(s, arrays, items, num_lanes(s.dims));
  }
}

const char* launch_for_type(const GpuAttentionCall& call, void* stream, bool is_forward) {
  const auto on = static_cast<cudaStream_t>(stream);
  switch (call.type) {
    case GpuValueType::f32:
      launch<float, float>(call, on, is_forward);
      break;
    case GpuValueType::f64:
      launch<double, double>(call, on, is_forward);
      break;
    case GpuValueType::f16:
      launch<__half, float>(call, on, is_forward);
      break;
    case GpuValueType::bf16:
      launch<__nv_bfloat16, float>(call, on, is_forward);
      break;
  }
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

const char* attend(const GpuAttentionCall& call, void* stream) {
  return launch_for_type(call, stream, true);
}
const char* give_back(const GpuAttentionCall& call, void* stream) {
  return launch_for_type(call, stream, false);
}

}  // namespace

const GpuAttentionKernels& gpu_attention_kernels() {
  static const GpuAttentionKernels kernels = {attend, give_back};
  return kernels;
}

}  // namespace ffkit
