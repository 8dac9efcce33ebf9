// TerminalLine: one line on a terminal that is drawn over and over: how far something is. Not
// thread-safe.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

namespace ffkit {

class TerminalLine {
 public:
  // `fd`: a terminal, not owned, or -1: nothing is drawn. `interval`: how long a line stays at
  // least.
  TerminalLine(int fd, std::chrono::milliseconds interval) : fd_(fd), interval_(interval) {}
  // Wipes the line.
  ~TerminalLine() { wipe(); }
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  // `fd`, or -1 when it is no terminal.
  static int fd_of_terminal(int fd) { return ::isatty(fd) == 1 ? fd : -1; }

  // Whether a line may be drawn now: there is somewhere to draw, and the last one has stayed long
  // enough or was wiped.
  bool is_due() const {
    return fd_ >= 0 && (!is_drawn_ || Clock::now() - last_drawn_ >= interval_);
  }
  // Draws `text` in place of the line, cut to the width of the terminal: a line that wraps cannot
  // be drawn over. A terminal that has gone away is no reason to fail.
  void draw(const std::string& text) {
    if (fd_ < 0) return;
    last_drawn_ = Clock::now();
    is_drawn_ = true;
    write_text(std::string(kEraseLine) + text.substr(0, width() - 1));
  }
  // Removes the line, so that something else can be printed. Does nothing when there is none.
  void wipe() noexcept {
    if (is_drawn_) write_text(kEraseLine);
    is_drawn_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::string_view kEraseLine = "\r\033[K";

  void write_text(std::string_view text) const noexcept {
    [[maybe_unused]] const ssize_t ignored = ::write(fd_, text.data(), text.size());
  }
  // In characters; what is no terminal has no limit.
  size_t width() const {
    winsize size{};
    if (::ioctl(fd_, TIOCGWINSZ, &size) != 0) return std::string::npos;
    return size.ws_col > 0 ? size.ws_col : 80;
  }

  int fd_;
  std::chrono::milliseconds interval_;
  bool is_drawn_ = false;
  Clock::time_point last_drawn_;
};

}  // namespace ffkit
