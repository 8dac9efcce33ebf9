// The kernels of deformable attention, compiled by nvcc.
#pragma once

#include "trainer/ops/deformable_attention_call.h"

namespace ffkit {

const GpuAttentionKernels& gpu_attention_kernels();

}  // namespace ffkit
