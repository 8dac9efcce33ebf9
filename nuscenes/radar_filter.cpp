#include <ffkit/nuscenes/radar_filter.h>

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

}  // namespace ffkit::nuscenes
