#include <gtest/gtest.h>

#include <ffkit/pose/root_metrics.h>

#include "expect_error.h"

namespace ffkit::pose {
namespace {

TEST(RootMetrics, MapIsPutIntoTheBoxAndBeforeTheCamera) {
  const Point3 root =
      root_of_map({32, 16, 2000}, {100, 200, 64, 128}, {{500, 1000}, {82, 132}}, 64, 64);
  EXPECT_DOUBLE_EQ(root[0], (132 - 82) / 500.0 * 2000);
  EXPECT_DOUBLE_EQ(root[1], (232 - 132) / 1000.0 * 2000);
  EXPECT_EQ(root[2], 2000);
}

TEST(RootMetrics, ErrorIsTheMeanDistance) {
  const std::vector<Point3> found = {{3, 4, 0}, {0, 0, 2}}, truth = {{0, 0, 0}, {0, 0, 0}};
  const RootError error = root_error(found, truth);
  EXPECT_EQ(error.total, 3.5);
  EXPECT_EQ(error.x, 1.5);
  EXPECT_EQ(error.y, 2);
  EXPECT_EQ(error.z, 1);
  EXPECT_EQ(error.count, 2);
  EXPECT_ERROR(root_error(found, std::span(truth).first(1)), invalid_argument);
}

TEST(RootMetrics, ActionIsInTheName) {
  EXPECT_EQ(action_of("s_09_act_02_subact_01/x.jpg#1"), 0);
  EXPECT_STREQ(action_name(action_of("s_11_act_16_ca_01")), "WalkTogether");
  EXPECT_EQ(action_of("s_11_act_17_ca_01"), -1);
  EXPECT_EQ(action_of("TS1/img.jpg"), -1);
}

// By hand: in the order of the scores right, wrong (its nearest is taken, although another is
// free), right.
TEST(RootMetrics, EachRootIsTakenOnce) {
  const std::map<int64_t, std::vector<Point3>> truth = {{1, {{0, 0, 1000}, {0, 0, 1240}}},
                                                        {2, {{0, 0, 3000}}}};
  const std::vector<FoundRoot> found = {{2, {0, 100, 3000}, 0.5},
                                        {1, {0, 0, 1010}, 0.9},
                                        {1, {0, 0, 1020}, 0.8},
                                        {3, {0, 0, 1020}, 0.95}};  // a picture without a true root
  // precision 1, 1/2, 2/3; recall 1/3, 1/3, 2/3; the first step does not count
  EXPECT_DOUBLE_EQ(root_average_precision(found, truth, 3), 2.0 / 3 * (2.0 / 3 - 1.0 / 3));
  EXPECT_EQ(root_average_precision(found, truth, 3, 100), 0);  // 100 is not below 100
  EXPECT_ERROR(root_average_precision(found, truth, 0), invalid_argument);
}

TEST(RootMetrics, EqualScoresKeepTheirOrder) {
  const std::map<int64_t, std::vector<Point3>> truth = {{1, {{0, 0, 0}}}, {2, {{0, 0, 0}}}};
  const FoundRoot right{1, {0, 0, 0}, 1}, wrong{1, {0, 0, 900}, 1}, other{2, {0, 0, 0}, 1};
  EXPECT_EQ(root_average_precision({right, wrong, other}, truth, 2), 2.0 / 3 * 0.5);
  EXPECT_EQ(root_average_precision({wrong, right, other}, truth, 2), 0.5 * 0.5 + 2.0 / 3 * 0.5);
}

}  // namespace
}  // namespace ffkit::pose
