#include <gtest/gtest.h>

#include <csignal>

#include <ffkit/launch/stop.h>

#include "distributed/communicator.h"
#include "support/world.h"

namespace ffkit {
namespace {

TEST(StopDeathTest, EndsTheWaitForProcessesThatDoNotCome) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        stop_on_signals();
        request_stop(SIGTERM);
        ProcessPlace place;
        place.rank = 1;
        place.world_size = 2;
        place.meeting_point = "tcp://127.0.0.1:1";
        place.timeout_seconds = 600;
        const Communicator communicator(place, c10::kCPU);
        std::_Exit(3);
      },
      ::testing::ExitedWithCode(kExitStopped), "while it was waiting for the other processes");
}

TEST(StopVote, IsNoneUntilSomebodyIsAsked) {
  testing::run_world(2, [](Communicator& communicator) {
    StopVote vote(communicator);
    EXPECT_FALSE(vote.is_stopped());
    EXPECT_FALSE(vote.close());
  });
}

TEST(StopVote, IsHeardByAll) {
  request_stop(SIGTERM);
  testing::run_world(2, [](Communicator& communicator) {
    StopVote vote(communicator);
    EXPECT_TRUE(vote.is_stopped());
    EXPECT_TRUE(vote.close());
  });
  request_stop(0);
}

}  // namespace
}  // namespace ffkit
