#include "base/terminal_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>

namespace ffkit {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// What can be read from `fd` without waiting.
std::string written_to(int fd) {
  std::array<char, 256> text{};
  const ssize_t count = ::read(fd, text.data(), text.size());
  return {text.data(), count > 0 ? size_t(count) : 0};
}

class TerminalLineTest : public ::testing::Test {
 protected:
  TerminalLineTest() { EXPECT_EQ(::pipe2(ends_.data(), O_NONBLOCK), 0); }
  ~TerminalLineTest() override {
    for (const int fd : ends_) ::close(fd);
  }
  std::string written() const { return written_to(ends_[0]); }

  std::array<int, 2> ends_{};
};

TEST_F(TerminalLineTest, IsDrawnOverAndWiped) {
  {
    TerminalLine line(ends_[1], milliseconds(0));
    line.wipe();
    EXPECT_EQ(written(), "");
    line.draw("one");
    line.draw("two");
    EXPECT_EQ(written(), "\r\033[Kone\r\033[Ktwo");
    line.wipe();
    line.wipe();
    EXPECT_EQ(written(), "\r\033[K");
    line.draw("three");
    written();
  }
  EXPECT_EQ(written(), "\r\033[K");
}

TEST_F(TerminalLineTest, IsDueAgainAfterItsIntervalOrWhenItIsWiped) {
  TerminalLine slow(ends_[1], hours(1));
  EXPECT_TRUE(slow.is_due());
  slow.draw("one");
  EXPECT_FALSE(slow.is_due());
  slow.wipe();
  EXPECT_TRUE(slow.is_due());
  TerminalLine fast(ends_[1], milliseconds(0));
  fast.draw("one");
  EXPECT_TRUE(fast.is_due());
}

TEST_F(TerminalLineTest, WhatIsNoTerminalHasNone) {
  EXPECT_EQ(TerminalLine::fd_of_terminal(ends_[1]), -1);
  TerminalLine none(-1, milliseconds(0));
  EXPECT_FALSE(none.is_due());
  none.draw("one");
  none.wipe();
}

TEST(TerminalLine, IsCutToTheWidthOfTheTerminal) {
  const int screen = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (screen < 0) GTEST_SKIP() << "no pseudo-terminals here";
  ASSERT_EQ(::grantpt(screen), 0);
  ASSERT_EQ(::unlockpt(screen), 0);
  const int terminal = ::open(::ptsname(screen), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  winsize size{};
  size.ws_col = 10;
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(TerminalLine::fd_of_terminal(terminal), terminal);
  {
    TerminalLine line(terminal, milliseconds(0));
    line.draw("0123456789abc");
    EXPECT_EQ(written_to(screen), "\r\033[K012345678");
  }
  ::close(terminal);
  ::close(screen);
}

}  // namespace
}  // namespace ffkit
