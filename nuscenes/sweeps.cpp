#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>

#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

bool is_in(uint32_t set, float state) {
  constexpr float kNumStates = 32;
  if (!(state >= 0 && state < kNumStates)) return false;
  const auto number = static_cast<uint32_t>(state);
  return static_cast<float>(number) == state && (set >> number & 1U) != 0;
}

}  // namespace

bool keeps(const RadarFilter& filter, float dyn_prop, float ambig_state, float invalid_state) {
  return !filter.is_on ||
         (is_in(filter.invalid_states, invalid_state) && is_in(filter.dynprop_states, dyn_prop) &&
          is_in(filter.ambig_states, ambig_state));
}

namespace {

float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t rest = half & 0x7fffU;
  // Shifted into place, an f16 number is too small by 2^112; infinities and NaNs keep their
  // exponent.
  const float magnitude = rest >= 0x7c00U
                              ? std::bit_cast<float>(0x7f800000U | (rest & 0x3ffU) << 13)
                              : std::bit_cast<float>(rest << 13) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

template <typename T>
float load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (sizeof(T) == 2) {
    return from_half(value);
  } else {
    return value;
  }
}

// Which points are kept.
template <typename T>
class Keeper {
 public:
  Keeper(const SweepPlacement& placement, size_t columns)
      : near_(placement.min_distance),
        filter_(placement.radar_filter),
        is_filtered_(filter_.is_on && columns == static_cast<size_t>(kRadarColumns)) {}
  bool operator()(const std::byte* point) const {
    const double x = load<T>(point);
    const double y = load<T>(point + sizeof(T));
    if (std::fabs(x) < near_ && std::fabs(y) < near_) return false;
    return !is_filtered_ || keeps(filter_, load<T>(point + kDynPropColumn * sizeof(T)),
                                  load<T>(point + kAmbigStateColumn * sizeof(T)),
                                  load<T>(point + kInvalidStateColumn * sizeof(T)));
  }

 private:
  const double near_;
  const RadarFilter& filter_;
  const bool is_filtered_;
};

// kColumns: the number of columns where the compiler is to know it, else 0.
template <typename T, size_t kColumns>
int64_t append(const std::byte* from, int64_t num_points, const SweepPlacement& placement,
               size_t given_columns, int64_t max_rows, float* out) {
  const size_t columns = kColumns != 0 ? kColumns : given_columns;
  const Matrix3 r = placement.to_target.rotation;
  const Vector3 t = placement.to_target.translation;
  const auto lag = static_cast<float>(placement.time_lag);
  const Keeper<T> is_kept(placement, columns);
  int64_t num_rows = 0;
  for (int64_t i = 0; i < num_points && num_rows < max_rows; ++i, from += columns * sizeof(T)) {
    if (!is_kept(from)) continue;
    const double x = load<T>(from);
    const double y = load<T>(from + sizeof(T));
    const double z = load<T>(from + 2 * sizeof(T));
    for (size_t row = 0; row < 3; ++row) {
      out[row] =
          static_cast<float>(r[3 * row] * x + r[3 * row + 1] * y + r[3 * row + 2] * z + t[row]);
    }
    for (size_t column = 3; column < columns; ++column) {
      out[column] = load<T>(from + column * sizeof(T));
    }
    out[columns] = lag;
    out += columns + 1;
    ++num_rows;
  }
  return num_rows;
}

template <typename T>
int64_t count(const std::byte* from, int64_t num_points, const SweepPlacement& placement,
              size_t columns) {
  const Keeper<T> is_kept(placement, columns);
  int64_t num_rows = 0;
  for (int64_t i = 0; i < num_points; ++i, from += columns * sizeof(T)) {
    num_rows += is_kept(from) ? 1 : 0;
  }
  return num_rows;
}

// Calls `work` with a value of the type of the numbers of `points`.
template <typename Work>
int64_t visit_points(const TensorView& points, int64_t columns, const Work& work) {
  if (points.shape.size() != 2 || points.shape[1] != columns || columns < 3) {
    throw error_of(ErrorCode::corrupt, "the point cloud has the shape [{}], but must have [n, {}]",
                   fmt::join(points.shape, ", "), columns);
  }
  switch (points.dtype) {
    case DType::f32:
      return work(float{});
    case DType::f16:
      return work(uint16_t{});
    default:
      throw error_of(ErrorCode::corrupt,
                     "the point cloud has the dtype {}, but must have f32 or f16",
                     to_string(points.dtype));
  }
}

}  // namespace

double time_lag(int64_t target_us, int64_t timestamp_us) {
  return static_cast<double>(target_us - timestamp_us) * 1e-6;
}

int64_t append_sweep(const TensorView& points, const SweepPlacement& placement, int64_t columns,
                     int64_t max_rows, float* out) {
  return visit_points(points, columns, [&](auto type) {
    using T = decltype(type);
    const auto work = columns == kLidarColumns ? append<T, kLidarColumns> : append<T, 0>;
    return work(points.data.data(), points.shape[0], placement, static_cast<size_t>(columns),
                max_rows, out);
  });
}

int64_t count_sweep(const TensorView& points, const SweepPlacement& placement, int64_t columns) {
  return visit_points(points, columns, [&](auto type) {
    return count<decltype(type)>(points.data.data(), points.shape[0], placement,
                                 static_cast<size_t>(columns));
  });
}

}  // namespace ffkit::nuscenes
