#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

#include "nuscenes/nuscenes_expected.h"
#include "test_prelude.h"

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

TensorView view(const std::vector<float>& values, std::vector<int64_t> shape) {
  return {DType::f32, std::move(shape), std::as_bytes(std::span(values))};
}

TEST(Sweeps, PointsAreMovedAndGetTheirTimeLag) {
  const std::vector<float> points = {2, 0, 1, 7, 3, 0.5F, -0.5F, 9, 8, 4, 0.5F, 3, 0, 9, 5};
  const SweepPlacement placement{
      .to_target = make_transform({{10, 0, 0}, {std::sqrt(0.5), 0, 0, std::sqrt(0.5)}}),
      .time_lag = 0.25};
  std::vector<float> out(18, -1);
  ASSERT_EQ(append_sweep(view(points, {3, 5}), placement, 5, 3, out.data()), 2);
  const std::vector<float> wanted = {10, 2, 1, 7, 3, 0.25F, 7, 0.5F, 0, 9, 5, 0.25F};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(out[i], wanted[i], 1e-6) << i;
  EXPECT_EQ(out[12], -1);  // nothing behind the last row
  // All of them, but no more than there is room for.
  SweepPlacement all = placement;
  all.min_distance = 0;
  EXPECT_EQ(append_sweep(view(points, {3, 5}), all, 5, 3, out.data()), 3);
  EXPECT_EQ(append_sweep(view(points, {3, 5}), all, 5, 2, out.data()), 2);
}

TEST(Sweeps, HalfPrecisionPointsAreReadExactly) {
  // 1.5, -2, 65504, the smallest normal, the smallest subnormal, infinity.
  const std::vector<uint16_t> halves = {0x3e00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x7c00};
  std::vector<float> out(14);
  const TensorView points{DType::f16, {2, 3}, std::as_bytes(std::span(halves))};
  ASSERT_EQ(append_sweep(points, {.min_distance = 0}, 3, 2, out.data()), 2);
  EXPECT_EQ(out[0], 1.5F);
  EXPECT_EQ(out[1], -2.0F);
  EXPECT_EQ(out[2], 65504.0F);
  EXPECT_EQ(append_sweep({DType::f16, {1, 6}, std::as_bytes(std::span(halves))},
                         {.min_distance = 0}, 6, 1, out.data()),
            1);
  EXPECT_EQ(out[3], 0x1p-14F);
  EXPECT_EQ(out[4], 0x1p-24F);
  EXPECT_EQ(out[5], std::numeric_limits<float>::infinity());
}

TEST(Sweeps, OtherShapesAndDtypesAreRefused) {
  const std::vector<float> points(10);
  std::vector<float> out(12);
  EXPECT_ERROR(append_sweep(view(points, {10}), {}, 5, 2, out.data()), corrupt);
  EXPECT_ERROR(append_sweep(view(points, {5, 2}), {}, 5, 2, out.data()), corrupt);
  TensorView doubles = view(points, {1, 5});
  doubles.dtype = DType::f64;
  EXPECT_ERROR(append_sweep(doubles, {}, 5, 2, out.data()), corrupt);
}

// from_file_multisweep() of all samples with 5 and 10 sweeps: numbers, sums, times and the first
// points.
TEST(SweepsOfDevkit, AggregatedCloudsAgree) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  const auto expected = read_json(root / "expected.json");
  int num_aggregated = 0;
  for (const auto& sample : expected["samples"]) {
    const auto& key = sample["channels"]["LIDAR_TOP"];
    std::vector<nlohmann::json> frames = {key};
    for (const auto& sweep : sample["lidar_sweeps"]) frames.push_back(sweep);
    for (const auto& wanted : sample["multisweep"]) {
      const auto num_frames = std::min<size_t>(frames.size(), wanted["nsweeps"]);
      std::vector<float> cloud(num_frames * 35000 * 6);
      int64_t num_rows = 0;
      for (size_t f = 0; f < num_frames; ++f) {
        std::ifstream file(root / "root" / frames[f]["filename"].get<std::string>(),
                           std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        const TensorView points{
            DType::f32, {std::ssize(bytes) / 20, 5}, std::as_bytes(std::span(bytes))};
        const SweepPlacement placement{
            .to_target =
                between_sensors(pose(frames[f]["calibrated_sensor"]), pose(frames[f]["ego_pose"]),
                                pose(key["calibrated_sensor"]), pose(key["ego_pose"])),
            .time_lag = time_lag(key["timestamp"], frames[f]["timestamp"]),
            .min_distance = wanted["min_distance"]};
        num_rows += append_sweep(points, placement, 5, std::ssize(cloud) / 6 - num_rows,
                                 cloud.data() + num_rows * 6);
        EXPECT_NEAR(placement.time_lag, wanted["distinct_times"][f], 5e-7);
      }
      ASSERT_EQ(num_rows, wanted["num_points"]);
      ++num_aggregated;
      for (size_t column = 0; column < 4; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < num_rows; ++i) sum += cloud[static_cast<size_t>(i) * 6 + column];
        EXPECT_NEAR(sum, wanted["sum_xyzi"][column], 1e-3);
      }
      const std::array<const char*, 4> names = {"x", "y", "z", "intensity"};
      for (size_t i = 0; i < 5; ++i) {
        for (size_t column = 0; column < 4; ++column) {
          EXPECT_NEAR(cloud[i * 6 + column], number(wanted["first5"][i][names[column]]), 1e-5);
        }
        EXPECT_NEAR(cloud[i * 6 + 5], number(wanted["first5"][i]["time"]), 5e-7);
      }
    }
  }
  EXPECT_EQ(num_aggregated, 16);
}

}  // namespace
}  // namespace ffkit::nuscenes
