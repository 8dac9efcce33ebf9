// Aggregating sweeps: point clouds of one channel, taken one after another, as one cloud in the
// frame of the keyframe's sensor.
//
//   x  y  z  other columns ...  time lag     f32 [n, columns + 1]
//
// Agrees with the devkit's PointCloud.from_file_multisweep(): points are moved in f64 and rounded
// to f32 once; those with |x| and |y| below min_distance in the sweep's own frame, on the vehicle,
// are left out; the time lag, how much older a point is than the keyframe, is in seconds.
//
// Pure functions: thread-safe.
#pragma once

#include <cstdint>

#include <ffkit/format/record.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/radar_filter.h>

namespace ffkit::nuscenes {

// The devkit's default.
inline constexpr double kMinDistance = 1.0;

struct SweepPlacement {
  Transform to_target;                 // from the sweep's sensor to where the points are wanted
  double time_lag = 0;                 // seconds, positive for what is older
  double min_distance = kMinDistance;  // metres; 0 keeps all points
  RadarFilter radar_filter = kAllRadarPoints;  // of points with the 18 columns of a radar
};

// Seconds from `timestamp_us` to `target_us`.
double time_lag(int64_t target_us, int64_t timestamp_us);

// Appends the points of one sweep, [n, columns] f32 or f16 with columns >= 3, to `out`, which has
// room for `max_rows` rows of columns + 1 numbers. Returns the number of rows written; points
// beyond max_rows are left out. Throws Error(corrupt) for another shape or dtype.
int64_t append_sweep(const TensorView& points, const SweepPlacement& placement, int64_t columns,
                     int64_t max_rows, float* out);
// The rows that append_sweep() would write where there is room for all. Throws what it throws.
int64_t count_sweep(const TensorView& points, const SweepPlacement& placement, int64_t columns);

}  // namespace ffkit::nuscenes
