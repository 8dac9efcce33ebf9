// ProgressLine: one line on standard error that shows how far a long reading is; silent unless that
// is a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/terminal_line.h"

namespace ffkit {

class ProgressLine {
 public:
  // `what` begins the line; so many bytes, or of what `unit` names ("records"), are to be done. The
  // destructor wipes the line.
  ProgressLine(std::string what, int64_t total, std::string unit = "");
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // So many more are done. Thread-safe; draws a few times a second.
  void add(int64_t count);

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  std::string text_of(int64_t count) const;

  std::string what_;
  std::string unit_;  // empty: bytes
  int64_t total_;
  Clock::time_point start_;
  std::atomic<int64_t> done_ = 0;
  std::mutex mutex_;  // of what follows
  TerminalLine line_;
};

}  // namespace ffkit
