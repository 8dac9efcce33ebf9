#include "report/progress.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

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

TEST(Progress, WritesEverythingOnOneLine) {
  EXPECT_EQ(to_string({.epoch = 3,
                       .num_epochs = 15,
                       .step = 120,
                       .num_steps = 156,
                       .loss = 1.43214,
                       .units_per_second = 382.4,
                       .wait_share = 0.003,
                       .seconds_left = 83,
                       .units = "images"}),
            "epoch 3/15  step 120/156  loss 1.4321  382 images/s  data wait 0.3 %  1:23 left");
}

TEST(Progress, LeavesOutWhatIsNotKnownYet) {
  EXPECT_EQ(to_string({.epoch = 1, .num_epochs = 2, .step = 1, .num_steps = 9, .loss = 2}),
            "epoch 1/2  step 1/9  loss 2.0000");
}

TEST(Progress, FormatsDurations) {
  EXPECT_EQ(format_duration(0.2), "0:00");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(7283), "2:01:23");
}

TEST(LiveProgress, ErasesItsLineAndLimitsItsRate) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  const auto num_bytes = [&] {
    std::fseek(file.get(), 0, SEEK_END);
    return std::ftell(file.get());
  };
  LiveProgress live(file.get());
  live.clear();  // nothing shown yet: nothing to erase
  EXPECT_EQ(num_bytes(), 0);
  live.update({.epoch = 1, .num_epochs = 1, .step = 1, .num_steps = 2});
  const long once = num_bytes();
  EXPECT_GT(once, 0);
  live.update({.epoch = 1, .num_epochs = 1, .step = 2, .num_steps = 2});
  EXPECT_EQ(num_bytes(), once);
  live.clear();
  EXPECT_GT(num_bytes(), once);
}

}  // namespace

}  // namespace ffkit
