// ProgressBar: one updated line on a terminal: share done, records/s, MB/s, time left. Elsewhere,
// such as in a log file, it prints a line every 30 s. Not thread-safe, but different threads may
// use it in turn, as ConvertOptions::progress does.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <ffkit/converter/options.h>

namespace ffkit {

class TerminalLine;

class ProgressBar {
 public:
  // On `fd`. `log_interval`: between the lines on what is no terminal.
  explicit ProgressBar(int fd, std::chrono::milliseconds log_interval = std::chrono::seconds(30));
  // Wipes the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const ConvertProgress& progress);
  // Removes the line, so that something else can be printed.
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;

  std::unique_ptr<TerminalLine> line_;  // never null
  const int log_;                       // -1: it is a terminal
  const std::chrono::milliseconds log_interval_;
  Clock::time_point last_logged_ = Clock::now();
  std::string split_;
  Clock::time_point split_start_;
};

// The line for `progress` after `seconds`: "train  41 %  538,090 of 1,281,167 pictures  12,345
// pictures/s  1,360 MB/s  1:00 left".
std::string progress_line(const ConvertProgress& progress, double seconds);

}  // namespace ffkit
