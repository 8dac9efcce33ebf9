#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include <ffkit/launch/stop.h>

#include "launch/waiting.h"

namespace ffkit {
namespace {

using std::chrono::milliseconds;

// A wait that nothing but a request to stop ends.
void wait_for_ever() {
  for (;;) std::this_thread::sleep_for(milliseconds(100));
}

class StopDeathTest : public ::testing::Test {
 protected:
  StopDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(StopDeathTest, EndsAWaitThatHasNothingToLose) {
  for (const int signal : {SIGTERM, SIGUSR1, SIGHUP}) {
    EXPECT_EXIT(
        {
          std::signal(SIGHUP, SIG_DFL);  // under nohup it is ignored
          stop_on_signals();
          const Waiting waiting("waiting in a test", Waiting::kNothingToLose);
          raise(signal);
          wait_for_ever();
        },
        ::testing::ExitedWithCode(kExitStopped), "stopped by SIG.* while it was waiting in a test");
  }
}

TEST_F(StopDeathTest, EndsAWaitThatBeginsAfterTheRequest) {
  EXPECT_EXIT(
      {
        stop_on_signals();
        raise(SIGINT);
        const Waiting waiting("waiting in a test", Waiting::kNothingToLose);
        wait_for_ever();
      },
      ::testing::ExitedWithCode(128 + SIGINT), "stopped by SIGINT");
}

// The longer wait is not over, the one inside it is; a wait that was ended in time counts no more.
TEST_F(StopDeathTest, HasThePatienceOfEachWait) {
  EXPECT_EXIT(
      {
        stop_on_signals();
        const Waiting outer("too long", std::chrono::hours(1));
        { const Waiting done("over", milliseconds(10)); }
        raise(SIGTERM);
        const Waiting inner("short", milliseconds(50));
        wait_for_ever();
      },
      ::testing::ExitedWithCode(kExitStopped), "while it was short");
}

TEST_F(StopDeathTest, LeavesAnIgnoredHangUpIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        stop_on_signals();
        raise(SIGHUP);
        std::_Exit(stop_signal() == 0 ? 3 : 4);
      },
      ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace ffkit
