// Which points of a radar count: the devkit's RadarPointCloud filters by three of the 18 columns
// (kRadarFields).
//
// Plain values and pure functions: thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace ffkit::nuscenes {

// States as a set, each 0 .. 31.
constexpr uint32_t state_set(std::initializer_list<int> states) {
  uint32_t set = 0;
  for (const int state : states) set |= 1U << state;
  return set;
}

// A point is kept when each of its states is in the set. The defaults are those of
// nuscenes-devkit's nuscenes.utils.data_classes (RadarPointCloud.invalid_states [0], dynprop_states
// 0..6, ambig_states [3]): points that are valid, of a known kind of motion, unambiguous.
struct RadarFilter {
  bool is_on = true;  // false: all points, as the devkit's disable_filters()
  uint32_t invalid_states = state_set({0});
  uint32_t dynprop_states = state_set({0, 1, 2, 3, 4, 5, 6});
  uint32_t ambig_states = state_set({3});
};

inline constexpr RadarFilter kAllRadarPoints{.is_on = false};

// Whether the point with these numbers, in the order of kRadarFields, is kept. A number that is no
// state, 0 .. 31, is in no set.
bool keeps(const RadarFilter& filter, float dyn_prop, float ambig_state, float invalid_state);

// Columns of the states.
inline constexpr int kDynPropColumn = 3;
inline constexpr int kAmbigStateColumn = 11;
inline constexpr int kInvalidStateColumn = 14;

}  // namespace ffkit::nuscenes
