// The loops of deformable attention on the CPU, vectorised over the channels of a head.
#pragma once

#include <cstdint>
#include <vector>

namespace ffkit {

struct DeformableAttentionShape {
  struct Level {
    int64_t height, width;
    int64_t first;  // of its pixels among those of all levels
  };
  int64_t batch, pixels, heads, dims, queries, points;
  std::vector<Level> levels;
};

// Contiguous, as deformable_attention() has them.
template <typename T>
struct DeformableAttentionInput {
  const T* value;
  const T* locations;
  const T* weights;
};

// Writes out [heads * dims] of the queries first .. last - 1 of all samples, counted through:
// sample * queries + query.
void attend(const DeformableAttentionShape& shape, const DeformableAttentionInput<float>& input,
            int64_t first, int64_t last, float* out);
void attend(const DeformableAttentionShape& shape, const DeformableAttentionInput<double>& input,
            int64_t first, int64_t last, double* out);

template <typename T>
struct DeformableAttentionGradients {
  const T* out;  // [B, Q, H*D]
  T* value;      // added to; may be null
  T* locations;  // written
  T* weights;    // written
};

// For the heads first .. last - 1; head h of sample s is number s * heads + h. Different heads
// touch different memory.
void attend_backward(const DeformableAttentionShape& shape,
                     const DeformableAttentionInput<float>& input,
                     const DeformableAttentionGradients<float>& gradients, int64_t first,
                     int64_t last);
void attend_backward(const DeformableAttentionShape& shape,
                     const DeformableAttentionInput<double>& input,
                     const DeformableAttentionGradients<double>& gradients, int64_t first,
                     int64_t last);

}  // namespace ffkit
