// Between the operation and the kernels of trainer/cuda/: pointers and numbers alone, no header of
// libtorch or CUDA.
#pragma once

#include "ops/deformable_attention_threads.h"

namespace ffkit {

enum class GpuValueType { f32, f64, f16, bf16 };

// Pointers on the current GPU, untyped: those of GpuAttentionArrays<type, f64 for f64, else f32>.
struct GpuAttentionCall {
  GpuValueType type;
  GpuAttentionSizes sizes;
  const void* value;
  const void* locations;
  const void* weights;
  void* out;                 // attend
  const void* out_gradient;  // give_back from here on
  void* value_gradient;
  void* location_gradient;
  void* weight_gradient;
};

// Each puts its kernel on a stream (a cudaStream_t) and returns null, or what CUDA has against it.
// Any thread may call them.
struct GpuAttentionKernels {
  const char* (*attend)(const GpuAttentionCall& call, void* stream);
  const char* (*give_back)(const GpuAttentionCall& call, void* stream);
};

}  // namespace ffkit
