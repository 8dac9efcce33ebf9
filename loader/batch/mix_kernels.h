// The vector loop of MixUp, compiled for several instruction sets.
#pragma once

#include <cstddef>

#include <ffkit/format/schema.h>

namespace ffkit {

// values = others * other_weight + values * weight, computed in f32 without contraction.
struct MixJob {
  void* values = nullptr;
  const void* others = nullptr;
  size_t num_values = 0;
  DType dtype = DType::f32;  // u8, f16, bf16 or f32
  float weight = 1;
  float other_weight = 0;
};
void mix_values(const MixJob& job);

}  // namespace ffkit
