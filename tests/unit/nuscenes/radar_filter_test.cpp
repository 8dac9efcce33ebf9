#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

namespace ffkit::nuscenes {
namespace {

TEST(RadarFilter, KeepsWhatTheDevkitKeepsByDefault) {
  const RadarFilter devkit;
  EXPECT_TRUE(keeps(devkit, 0, 3, 0));
  EXPECT_TRUE(keeps(devkit, 6, 3, 0));
  EXPECT_FALSE(keeps(devkit, 7, 3, 0));  // stopped
  EXPECT_FALSE(keeps(devkit, 0, 2, 0));
  EXPECT_FALSE(keeps(devkit, 0, 3, 1));
}

TEST(RadarFilter, KnowsNoStatesButWholeNumbersBelow32) {
  const RadarFilter all = {.invalid_states = ~0U, .dynprop_states = ~0U, .ambig_states = ~0U};
  EXPECT_TRUE(keeps(all, 31, 0, 17));
  for (const float odd : {-1.0F, 32.0F, 0.5F, 1e30F, std::nanf("")}) {
    EXPECT_FALSE(keeps(all, odd, 3, 0)) << odd;
    EXPECT_TRUE(keeps(kAllRadarPoints, odd, odd, odd)) << odd;
  }
}

TEST(RadarFilter, LeavesPointsOutOfSweeps) {
  std::vector<float> points(3 * kRadarColumns, 0);
  for (size_t i = 0; i < 3; ++i) {
    points[18 * i] = static_cast<float>(10 + i);
    points[18 * i + kAmbigStateColumn] = i == 1 ? 4 : 3;
  }
  const TensorView view{DType::f32, {3, kRadarColumns}, std::as_bytes(std::span(points))};
  std::vector<float> out(3 * 19);
  SweepPlacement placement{.min_distance = 0, .radar_filter = {}};
  ASSERT_EQ(append_sweep(view, placement, kRadarColumns, 3, out.data()), 2);
  EXPECT_EQ(out[0], 10);
  EXPECT_EQ(out[19], 12);
  placement.radar_filter = kAllRadarPoints;
  EXPECT_EQ(append_sweep(view, placement, kRadarColumns, 3, out.data()), 3);
}

}  // namespace
}  // namespace ffkit::nuscenes
