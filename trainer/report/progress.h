// What a run shows of itself while it goes on: its speed, and a line on a terminal.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/terminal_line.h"

namespace ffkit {

// ThroughputMeter: the speed of training. The first kWarmupSteps steps are left out: they fill
// pools and caches. Not thread-safe.
class ThroughputMeter {
 public:
  static constexpr int64_t kWarmupSteps = 5;

  // A step over `num_units` (samples, tokens) took `seconds` in all, `wait_seconds` of them waiting
  // for data.
  void add_step(double num_units, double seconds, double wait_seconds);
  void warm_up_again() { num_steps_ = 0; }
  double units_per_second() const;  // 0 before anything was measured
  double wait_share() const;        // 0 .. 1; 0 before anything was measured

 private:
  int64_t num_steps_ = 0;
  double num_units_ = 0;
  double seconds_ = 0;
  double wait_seconds_ = 0;
};

struct ProgressState {
  int64_t epoch = 0;  // counted from 1
  int64_t num_epochs = 0;
  int64_t step = 0;  // done in this epoch
  int64_t num_steps = 0;
  double loss = 0;
  double units_per_second = 0;
  double wait_share = 0;
  double seconds_left = 0;  // of the run; 0: not known yet
  std::string units = {};   // what is counted: "images"
};

// "epoch 3/15  step 120/156  loss 1.4321  382 images/s  data wait 0.3 %  1:23 left"
std::string to_string(const ProgressState& state);
// The line of a log: "step 120/156 of epoch 3/15  loss 1.4321  382 images/s  data wait 0.3 %
// 1:23 left"
std::string log_line(const ProgressState& state);
// "382 images/s  data wait 0.3 %"; empty while nothing was measured (ThroughputMeter leaves the
// first steps out).
std::string throughput_text(double units_per_second, const std::string& units, double wait_share);
// Seconds as "1:23" or "2:01:23".
std::string format_duration(double seconds);

// LiveProgress: one line on a terminal that is rewritten while an epoch runs.
class LiveProgress {
 public:
  // `terminal` may be null: then nothing is written. Not owned.
  explicit LiveProgress(std::FILE* terminal);

  // Rewrites the line, at most ten times a second.
  void update(const ProgressState& state);
  // Removes the line, so that others can be printed.
  void clear() { line_.wipe(); }

 private:
  std::FILE* terminal_;
  TerminalLine line_;
};

}  // namespace ffkit
