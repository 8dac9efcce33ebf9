// Which pixels a point of deformable attention lies between: for the loops on the CPU and for the
// kernels on a GPU. Needs no library.
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

}  // namespace ffkit
