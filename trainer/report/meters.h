// ThroughputMeter: the speed of training. Not thread-safe.
#pragma once

#include <cstdint>

namespace ffkit {

// The first kWarmupSteps steps are left out: they fill pools and caches.
class ThroughputMeter {
 public:
  static constexpr int64_t kWarmupSteps = 5;

  // A step over `num_units` (samples, tokens) took `seconds` in all, `wait_seconds` of them waiting
  // for data.
  void add_step(double num_units, double seconds, double wait_seconds);
  double units_per_second() const;  // 0 before anything was measured
  double wait_share() const;        // 0 .. 1; 0 before anything was measured

 private:
  int64_t num_steps_ = 0;
  double num_units_ = 0;
  double seconds_ = 0;
  double wait_seconds_ = 0;
};

}  // namespace ffkit
