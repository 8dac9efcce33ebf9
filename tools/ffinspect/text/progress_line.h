// ProgressLine: one line on standard error that shows how far a long reading is; silent unless that is a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace ffkit {

class ProgressLine {
 public:
  // `what` begins the line; `total_bytes` are to be done.
  ProgressLine(std::string what, int64_t total_bytes);
  // Wipes the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // So many more bytes are done. Thread-safe; draws a few times a second.
  void add(int64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  std::string what_;
  int64_t total_bytes_;
  bool is_terminal_;
  Clock::time_point start_;
  std::atomic<int64_t> done_bytes_ = 0;
  std::mutex mutex_;  // of what follows
  Clock::time_point last_drawn_;
};

}  // namespace ffkit
