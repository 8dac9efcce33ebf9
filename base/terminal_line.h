// TerminalLine: one line on a terminal that is drawn over and over: how far something is. Not
// thread-safe.
#pragma once

#include <chrono>
#include <string>

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
  static int fd_of_terminal(int fd);

  // Whether a line may be drawn now: there is somewhere to draw, and the last one has stayed long
  // enough or was wiped.
  bool is_due() const;
  // Draws `text` in place of the line, cut to the width of the terminal: a line that wraps cannot
  // be drawn over. A terminal that has gone away is no reason to fail.
  void draw(const std::string& text);
  // Removes the line, so that something else can be printed. Does nothing when there is none.
  void wipe() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  int fd_;
  std::chrono::milliseconds interval_;
  bool is_drawn_ = false;
  Clock::time_point last_drawn_;
};

}  // namespace ffkit
