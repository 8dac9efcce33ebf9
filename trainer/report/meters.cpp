#include "report/meters.h"

namespace ffkit {

void ThroughputMeter::add_step(double num_units, double seconds, double wait_seconds) {
  if (++num_steps_ <= kWarmupSteps) return;
  num_units_ += num_units;
  seconds_ += seconds;
  wait_seconds_ += wait_seconds;
}

double ThroughputMeter::units_per_second() const {
  return seconds_ > 0 ? num_units_ / seconds_ : 0;
}

double ThroughputMeter::wait_share() const {
  return seconds_ > 0 ? wait_seconds_ / seconds_ : 0;
}

}  // namespace ffkit
