// Aggregating sweeps: point clouds of one channel, taken one after another, as one cloud in the
// frame of the keyframe's sensor.
//
//   x  y  z  other columns ...  time lag     f32 [n, columns + 1]
//
// Equals the devkit's PointCloud.from_file_multisweep(): points are moved in f64 and rounded to f32
// once. Points on the vehicle, with |x| and |y| below min_distance in the sweep's own frame, are
// left out. The time lag is the age of a point relative to the keyframe, in seconds.
//
// Pure functions: thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <ffkit/format/record.h>
#include <ffkit/nuscenes/geometry.h>

namespace ffkit::nuscenes {

// The filter of radar points: the devkit's RadarPointCloud uses three of the 18 columns
// (kRadarFields).
//
// Plain values and pure functions: thread-safe.

// States as a set, each 0 .. 31.
constexpr uint32_t state_set(std::initializer_list<int> states) {
  uint32_t set = 0;
  for (const int state : states) set |= 1U << state;
  return set;
}

// A point is kept if each of its states is in the set. The defaults are those of nuscenes-devkit's
// nuscenes.utils.data_classes (RadarPointCloud.invalid_states [0], dynprop_states 0..6,
// ambig_states [3]): points that are valid, unambiguous and have a known kind of motion.
struct RadarFilter {
  bool is_on = true;  // false: all points, as the devkit's disable_filters()
  uint32_t invalid_states = state_set({0});
  uint32_t dynprop_states = state_set({0, 1, 2, 3, 4, 5, 6});
  uint32_t ambig_states = state_set({3});
};

inline constexpr RadarFilter kAllRadarPoints{.is_on = false};

// Whether the filter keeps a point with these states. A number that is not a state, 0 .. 31, is in
// no set.
bool keeps(const RadarFilter& filter, float dyn_prop, float ambig_state, float invalid_state);

// Columns of the states.
inline constexpr int kDynPropColumn = 3;
inline constexpr int kAmbigStateColumn = 11;
inline constexpr int kInvalidStateColumn = 14;

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
// space for `max_rows` rows of columns + 1 numbers. Returns the number of written rows; further
// points are left out. Throws Error(corrupt) for another shape or dtype.
int64_t append_sweep(const TensorView& points, const SweepPlacement& placement, int64_t columns,
                     int64_t max_rows, float* out);
// The number of rows that append_sweep() would write with enough space. Throws like it.
int64_t count_sweep(const TensorView& points, const SweepPlacement& placement, int64_t columns);

}  // namespace ffkit::nuscenes
