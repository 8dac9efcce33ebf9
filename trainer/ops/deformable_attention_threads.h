// Deformable attention on a GPU, as far as it needs no library: which pixels a point lies between
// (for the loops on the CPU too), what a thread computes, and the call of a kernel. trainer/cuda/
// makes kernels of it; a test runs the same functions on the CPU, thread after thread.
//
//   forward:  a thread for each element of `out`: neighbours read neighbouring channels.
//   backward: a group of up to 32 threads, the lanes, for each query and head; a lane
//             has every 32nd channel. What a point gives to its location and weight is a sum over
//             the lanes; what it gives to the maps is added to memory that other groups add to.
#pragma once

#include <cmath>
#include <cstdint>

// For nvcc, code of the GPU; for other compilers an ordinary function.
#ifdef __CUDACC__
#define FFKIT_DEVICE __device__
#else
#define FFKIT_DEVICE
#endif

namespace ffkit {

// The four pixels around a point, and the share of each. A pixel outside of the map has the share 0
// and the place of one inside.
template <typename T>
struct Corners {
  int64_t pixel[4];  // upper left, upper right, lower left, lower right
  bool is_inside[4];
  T right, low;  // distance from the upper left one
  T share[4];
};

// Level: height, width, and `first` of its pixels among those of all maps. Returns false where the
// point samples nothing. Inlined always, so that it has the instructions of its caller, which may
// be compiled for another processor.
template <typename Level, typename T>
FFKIT_DEVICE __attribute__((always_inline)) inline bool find_corners(const Level& level,
                                                                     const T* location,
                                                                     Corners<T>& c) {
  const T x = location[0] * static_cast<T>(level.width) - T(0.5);
  const T y = location[1] * static_cast<T>(level.height) - T(0.5);
  // NaN fails too.
  if (!(x > T(-1) && y > T(-1) && x < static_cast<T>(level.width) &&
        y < static_cast<T>(level.height))) {
    return false;
  }
  const T left = std::floor(x);
  const T top = std::floor(y);
  c.right = x - left;
  c.low = y - top;
  const auto column = static_cast<int64_t>(left);
  const auto row = static_cast<int64_t>(top);
  const bool has_column[2] = {column >= 0, column + 1 < level.width};
  const bool has_row[2] = {row >= 0, row + 1 < level.height};
  const int64_t columns[2] = {has_column[0] ? column : column + 1,
                              has_column[1] ? column + 1 : column};
  const int64_t rows[2] = {has_row[0] ? row : row + 1, has_row[1] ? row + 1 : row};
  const T across[2] = {T(1) - c.right, c.right};
  const T down[2] = {T(1) - c.low, c.low};
  for (int i = 0; i < 4; ++i) {
    c.is_inside[i] = has_row[i / 2] && has_column[i % 2];
    c.pixel[i] = level.first + rows[i / 2] * level.width + columns[i % 2];
    c.share[i] = c.is_inside[i] ? across[i % 2] * down[i / 2] : T(0);
  }
  return true;
}

constexpr int kMostGpuLevels = 8;
constexpr int kMostLanes = 32;  // of a warp

// A kernel's argument. Sizes as deformable_attention() has them.
struct GpuAttentionSizes {
  struct Level {
    int32_t height, width;
    int64_t first;
  };
  int64_t batch, pixels, heads, dims, queries, points;
  int32_t num_levels;
  Level levels[kMostGpuLevels];
};

// Contiguous arrays on the GPU. `Value`: the type of `value`, `out` and the gradient of `out`; T:
// what is computed in, and the type of the rest.
template <typename Value, typename T>
struct GpuAttentionArrays {
  const Value* value;
  const T* locations;
  const T* weights;
  Value* out;                 // forward: written
  const Value* out_gradient;  // backward from here on
  T* value_gradient;          // added to; may be null
  T* location_gradient;       // written
  T* weight_gradient;         // written
};

// How a kernel is launched.
struct GpuGrid {
  unsigned blocks;
  unsigned threads;  // in a block
};

// Enough threads for `num_items`, or as many as fill any GPU: a thread takes each item that is a
// grid further. 0 blocks for 0 items, which is no launch.
constexpr GpuGrid gpu_grid(int64_t num_items) {
  constexpr int64_t kThreads = 256;
  constexpr int64_t kMostBlocks = 1 << 20;
  const int64_t blocks = (num_items + kThreads - 1) / kThreads;
  return {static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks),
          static_cast<unsigned>(kThreads)};
}

// The lanes of a group: the power of two that holds `dims`, up to a warp.
constexpr int num_lanes(int64_t dims) {
  int lanes = 1;
  while (lanes < kMostLanes && lanes < dims) lanes *= 2;
  return lanes;
}

constexpr int64_t num_forward_items(const GpuAttentionSizes& s) {
  return s.batch * s.queries * s.heads * s.dims;
}
constexpr int64_t num_backward_items(const GpuAttentionSizes& s) {
  return s.batch * s.queries * s.heads * num_lanes(s.dims);
}

// Item i: element i of `out`.
template <typename Value, typename T>
FFKIT_DEVICE inline void attend_item(const GpuAttentionSizes& s,
                                     const GpuAttentionArrays<Value, T>& a, int64_t i) {
  const int64_t bqh = i / s.dims;
  const int64_t b = bqh / s.heads / s.queries;
  const int64_t channels = s.heads * s.dims;
  const Value* value = a.value + b * s.pixels * channels + i % channels;
  int64_t point = bqh * s.num_levels * s.points;
  T sum = 0;
  for (int l = 0; l < s.num_levels; ++l) {
    for (int64_t p = 0; p < s.points; ++p, ++point) {
      Corners<T> c;
      if (!find_corners(s.levels[l], a.locations + 2 * point, c)) continue;
      T sampled = 0;
      for (int k = 0; k < 4; ++k) {
        if (c.is_inside[k]) sampled += c.share[k] * static_cast<T>(value[c.pixel[k] * channels]);
      }
      sum += a.weights[point] * sampled;
    }
  }
  a.out[i] = static_cast<Value>(sum);
}

// Item i: lane i % count of the query and head i / count. Lanes: count(); sum(x), over the lanes of
// the group, which all call it; add(T* to, T x), safe beside other threads.
template <typename Value, typename T, typename Lanes>
FFKIT_DEVICE inline void give_back_item(const GpuAttentionSizes& s,
                                        const GpuAttentionArrays<Value, T>& a, int64_t i,
                                        const Lanes& lanes) {
  const int64_t lane = i % lanes.count();
  const int64_t bqh = i / lanes.count();
  const int64_t b = bqh / s.heads / s.queries;
  const int64_t channels = s.heads * s.dims;
  const int64_t offset = b * s.pixels * channels + bqh % s.heads * s.dims;
  const Value* value = a.value + offset;
  const Value* out_gradient = a.out_gradient + bqh * s.dims;
  int64_t point = bqh * s.num_levels * s.points;
  for (int l = 0; l < s.num_levels; ++l) {
    for (int64_t p = 0; p < s.points; ++p, ++point) {
      T by_weight = 0, by_x = 0, by_y = 0;
      Corners<T> c;
      // The same for all lanes.
      if (find_corners(s.levels[l], a.locations + 2 * point, c)) {
        const T weight = a.weights[point];
        for (int64_t d = lane; d < s.dims; d += lanes.count()) {
          const T g = static_cast<T>(out_gradient[d]);
          T v[4];
          for (int k = 0; k < 4; ++k) {
            const int64_t place = c.pixel[k] * channels + d;
            v[k] = c.is_inside[k] ? static_cast<T>(value[place]) : T(0);
            if (c.is_inside[k] && a.value_gradient != nullptr) {
              lanes.add(a.value_gradient + offset + place, g * weight * c.share[k]);
            }
          }
          by_weight +=
              g * (c.share[0] * v[0] + c.share[1] * v[1] + c.share[2] * v[2] + c.share[3] * v[3]);
          by_x += g * ((v[1] - v[0]) * (T(1) - c.low) + (v[3] - v[2]) * c.low);
          by_y += g * ((v[2] - v[0]) * (T(1) - c.right) + (v[3] - v[1]) * c.right);
        }
        by_weight = lanes.sum(by_weight);
        by_x = lanes.sum(by_x) * weight * static_cast<T>(s.levels[l].width);
        by_y = lanes.sum(by_y) * weight * static_cast<T>(s.levels[l].height);
      }
      if (lane != 0) continue;
      a.weight_gradient[point] = by_weight;
      a.location_gradient[2 * point] = by_x;
      a.location_gradient[2 * point + 1] = by_y;
    }
  }
}

// All items of thread `thread` of `num_threads`, those of the whole grid.
template <typename Value, typename T>
FFKIT_DEVICE inline void attend_thread(const GpuAttentionSizes& s,
                                       const GpuAttentionArrays<Value, T>& a, int64_t num_items,
                                       int64_t thread, int64_t num_threads) {
  for (int64_t i = thread; i < num_items; i += num_threads) attend_item(s, a, i);
}
template <typename Value, typename T, typename Lanes>
FFKIT_DEVICE inline void give_back_thread(const GpuAttentionSizes& s,
                                          const GpuAttentionArrays<Value, T>& a, int64_t num_items,
                                          int64_t thread, int64_t num_threads, const Lanes& lanes) {
  for (int64_t i = thread; i < num_items; i += num_threads) give_back_item(s, a, i, lanes);
}

// Between the operation and the kernels of trainer/cuda/: pointers and numbers alone, no header of
// libtorch or CUDA.

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

// The kernels of deformable attention, compiled by nvcc.
const GpuAttentionKernels& gpu_attention_kernels();

}  // namespace ffkit
