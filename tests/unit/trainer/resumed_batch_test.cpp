#include <gtest/gtest.h>

#include "expect_error.h"
#include "run_options.h"

namespace ffkit {
namespace {

// Of a run of four processes with two batches of 8 each.
CheckpointInfo stored() {
  CheckpointInfo info;
  info.options.batch_size = 8;
  info.options.accumulate = 2;
  info.global_batch_size = 64;
  return info;
}

TrainOptions resumed(const TrainOptions& options, int world_size, bool accept = false) {
  return with_batch_of(stored(), "run/a.safetensors", options, world_size,
                       {.accept_batch_change = accept});
}

TEST(ResumedBatch, KeepsThePicturesAStepWithOtherProcesses) {
  const TrainOptions same = stored().options;
  EXPECT_EQ(resumed(same, 4).global_batch_size, 0) << "nothing to say";
  EXPECT_EQ(resumed(same, 2).resolved(2).batch_size, 16);
  EXPECT_EQ(resumed(same, 8).resolved(8).batch_size, 4);
  EXPECT_EQ(resumed(same, 2).resolved(2).global_batch_size, 64);
}

TEST(ResumedBatch, RefusesProcessesThatCannotShareIt) {
  EXPECT_ERROR(resumed(stored().options, 3), invalid_argument);
  EXPECT_EQ(resumed(stored().options, 3, true).resolved(3).global_batch_size, 48);
}

TEST(ResumedBatch, RefusesAnotherBatchUnlessItIsAccepted) {
  TrainOptions o = stored().options;
  o.batch_size = 16;
  EXPECT_ERROR(resumed(o, 4), invalid_argument);
  EXPECT_EQ(resumed(o, 4, true).resolved(4).global_batch_size, 128);
  EXPECT_EQ(resumed(o, 2).resolved(2).batch_size, 16) << "as many in all";
  o.global_batch_size = 32;
  EXPECT_ERROR(resumed(o, 4), invalid_argument);
  o.global_batch_size = 64;
  EXPECT_EQ(resumed(o, 16).resolved(16).batch_size, 2);
}

}  // namespace
}  // namespace ffkit
