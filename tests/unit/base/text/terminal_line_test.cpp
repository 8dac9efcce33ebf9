#include "base/terminal_line.h"

#include <sys/ioctl.h>

#include "base/printable.h"
#include "test_prelude.h"

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

TEST(Printable, KeepsText) {
  for (const char* text : {"", "a b/c.JPEG", "Öl 漢字 \xf0\x9f\x90\x9f", "\\"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\nb\tc\x1b[2J\x7f\r"), "a\\nb\\tc\\x1b[2J\\x7f\\x0d");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // U+009B: terminals take it for ESC [
  EXPECT_TRUE(is_utf8("\xc2\x9b"));
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  // A lone byte of Latin-1, a continuation, cut sequences, overlong forms, a surrogate, beyond
  // U+10FFFF.
  for (const char* text :
       {"\xe9", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x90", "\xc0\xaf", "\xe0\x80\xaf",
        "\xf0\x80\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(text)) << printable(text);
    EXPECT_TRUE(is_utf8(printable(text)));
    EXPECT_EQ(printable(text).substr(0, 2), "\\x");
  }
  EXPECT_EQ(printable("caf\xe9.jpg"), "caf\\xe9.jpg");
}

TEST(Printable, MakesErrorsOneLine) {
  const Error error(ErrorCode::io, "member 'a\nb'", {.path = "/data/caf\xe9"});
  EXPECT_STREQ(error.what(), "/data/caf\\xe9: member 'a\\nb'");
  EXPECT_EQ(error.context().path, "/data/caf\xe9");
}

}  // namespace
}  // namespace ffkit
