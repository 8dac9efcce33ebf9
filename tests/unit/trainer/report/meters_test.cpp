#include <gtest/gtest.h>

#include "report/progress.h"

namespace ffkit {
namespace {

TEST(ThroughputMeter, LeavesOutTheFirstSteps) {
  ThroughputMeter meter;
  for (int64_t i = 0; i < ThroughputMeter::kWarmupSteps; ++i) meter.add_step(1, 100, 90);
  EXPECT_EQ(meter.units_per_second(), 0);
  EXPECT_EQ(meter.wait_share(), 0);
  meter.add_step(64, 0.5, 0.1);
  meter.add_step(64, 0.5, 0);
  EXPECT_DOUBLE_EQ(meter.units_per_second(), 128);
  EXPECT_DOUBLE_EQ(meter.wait_share(), 0.1);
}

}  // namespace
}  // namespace ffkit
