#include "lr_schedule.h"

#include <gtest/gtest.h>

namespace ffkit {
namespace {

TrainOptions options(LrSchedule schedule, int64_t warmup_epochs) {
  TrainOptions o;
  o.lr_schedule = schedule;
  o.lr = 0.4;
  o.epochs = 10;
  o.warmup_epochs = warmup_epochs;
  o.lr_step_epochs = 3;
  o.lr_gamma = 0.1;
  return o;
}

TEST(LearningRate, RisesLinearlyToItsPeakDuringWarmUp) {
  const TrainOptions o = options(LrSchedule::cosine, 2);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 0), 0.05);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 3), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 7), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 8), 0.4);
}

TEST(LearningRate, FollowsHalfACosineAfterWarmUp) {
  const TrainOptions o = options(LrSchedule::cosine, 2);
  EXPECT_NEAR(learning_rate(o, 4, 8 + 16), 0.2, 1e-12);                      // half way
  EXPECT_NEAR(learning_rate(o, 4, 8 + 8), 0.2 * (1 + 0.70710678118), 1e-9);  // a quarter
  EXPECT_NEAR(learning_rate(o, 4, 40), 0.0, 1e-12);                          // one past the last
  EXPECT_GT(learning_rate(o, 4, 39), 0.0);
}

TEST(LearningRate, StartsAtItsPeakWithoutWarmUp) {
  EXPECT_DOUBLE_EQ(learning_rate(options(LrSchedule::cosine, 0), 5, 0), 0.4);
}

TEST(LearningRate, FallsByGammaAtStepEpochs) {
  const TrainOptions o = options(LrSchedule::step, 1);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5, 5), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5, 14), 0.4);
  EXPECT_NEAR(learning_rate(o, 5, 15), 0.04, 1e-15);
  EXPECT_NEAR(learning_rate(o, 5, 30), 0.004, 1e-15);
}

}  // namespace
}  // namespace ffkit
