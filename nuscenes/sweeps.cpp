#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>

#include <ffkit/format/error.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

namespace ffkit::nuscenes {
namespace {

float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t rest = half & 0x7fffU;
  // Shifted into place, an f16 number is too small by 2^112; infinities and NaNs keep their exponent.
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

template <typename T>
int64_t append(const std::byte* from, int64_t num_points, const SweepPlacement& placement,
               size_t columns, int64_t max_rows, float* out) {
  const Matrix3& r = placement.to_target.rotation;
  const Vector3& t = placement.to_target.translation;
  const auto lag = static_cast<float>(placement.time_lag);
  const double near = placement.min_distance;
  const bool is_filtered =
      placement.radar_filter.is_on && columns == static_cast<size_t>(kRadarColumns);
  int64_t num_rows = 0;
  for (int64_t i = 0; i < num_points && num_rows < max_rows; ++i, from += columns * sizeof(T)) {
    const double x = load<T>(from);
    const double y = load<T>(from + sizeof(T));
    const double z = load<T>(from + 2 * sizeof(T));
    if (std::fabs(x) < near && std::fabs(y) < near) continue;
    if (is_filtered && !keeps(placement.radar_filter, load<T>(from + kDynPropColumn * sizeof(T)),
                              load<T>(from + kAmbigStateColumn * sizeof(T)),
                              load<T>(from + kInvalidStateColumn * sizeof(T)))) {
      continue;
    }
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

}  // namespace

double time_lag(int64_t target_us, int64_t timestamp_us) {
  return static_cast<double>(target_us - timestamp_us) * 1e-6;
}

int64_t append_sweep(const TensorView& points, const SweepPlacement& placement, int64_t columns,
                     int64_t max_rows, float* out) {
  if (points.shape.size() != 2 || points.shape[1] != columns || columns < 3) {
    throw Error(ErrorCode::corrupt, fmt::format("a point cloud has shape [{}]; expected [n, {}]",
                                                fmt::join(points.shape, ", "), columns));
  }
  const auto width = static_cast<size_t>(columns);
  switch (points.dtype) {
    case DType::f32:
      return append<float>(points.data.data(), points.shape[0], placement, width, max_rows, out);
    case DType::f16:
      return append<uint16_t>(points.data.data(), points.shape[0], placement, width, max_rows, out);
    default:
      throw Error(ErrorCode::corrupt, fmt::format("a point cloud is of {}; expected f32 or f16",
                                                  to_string(points.dtype)));
  }
}

}  // namespace ffkit::nuscenes
