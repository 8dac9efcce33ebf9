// MetricsLog: what a run measures, as metrics.jsonl and as a TensorBoard event file in its work
// folder.
//
//   {"kind":"train","step":50,"epoch":1,"loss":6.91,"lr":0.1,"<units>_per_second":812.4,
//    "data_wait_share":0.002}
//   {"kind":"validation","step":5004,"epoch":1,"train_loss":5.62,"<metric>":4.87, ...,
//    "<units>":50000,"seconds":..}
//
// Metrics and units (images, tokens) are the task's.
//
// Steps are counted from 1 over all epochs, and are those done when the line was written. Every
// line reaches the kernel before the call returns: a killed run loses at most the steps since the
// last line. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/trainer/eval_result.h>

#include "base/file/file.h"

namespace ffkit {

// TensorboardWriter: a TensorBoard event file of scalars.
//
//   file   = record record ...
//   record = u64 length | u32 masked CRC of length | data | u32 masked CRC of data
//            as of TFRecord, little-endian
//   masked CRC = ((c >> 15) | (c << 17)) + 0xa282ead8, c = CRC-32C
//            tensorflow/core/lib/hash/crc32c.h
//   data   = an Event as protobuf, tensorflow/core/util/event.proto and framework/summary.proto:
//            wall_time = 1: double; step = 2: int64; then one of
//            file_version = 3: "brain.Event:2"    the first event of a file
//            session_log = 7 { status = 1: START }    the second: what other files say about this
//                                                     step and later ones is void
//            summary = 5 { value = 1 { tag = 1: string; simple_value = 2: float } ... }
//
// Every event reaches the kernel before the call returns, so that a killed process loses none. Not
// thread-safe.

struct Scalar {
  std::string tag;   // "train/loss"
  double value = 0;  // stored as f32
};

class TensorboardWriter {
 public:
  // Makes a new file events.out.tfevents.<time>.<host>.<process>.<n> in `folder`, which must exist.
  // `first_step` is the first step that may be written. Throws Error(io).
  TensorboardWriter(const std::filesystem::path& folder, int64_t first_step);

  // Writes one event with all `scalars`. Throws Error(io).
  void write(int64_t step, const std::vector<Scalar>& scalars);
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void append(const std::string& event);

  File file_;
};

inline constexpr char kMetricsName[] = "metrics.jsonl";

struct TrainMetrics {
  int64_t step = 0;
  int64_t epoch = 0;            // counted from 1
  double loss = 0;              // mean over the steps since the last line
  double lr = 0;                // of the last step
  double units_per_second = 0;  // over the steps since the last line
  double data_wait_share = 0;   // 0 .. 1, likewise
};

struct ValidationMetrics {
  int64_t step = 0;
  int64_t epoch = 0;
  double train_loss = 0;  // mean over the steps of the epoch
  double seconds = 0;     // of the epoch, validation included
  EvalResult result;
};

// As lines of metrics.jsonl, without their ends. `units` are those of the task.
std::string metrics_line(const TrainMetrics& metrics, const std::string& units);
std::string metrics_line(const ValidationMetrics& metrics, const std::string& units);

class MetricsLog {
 public:
  // Opens the log of a run that has done `steps_done` steps, and keeps what is there up to that
  // step: lines of later steps, which the run is about to do again, and a last line that was cut
  // off are removed; viewers of event files drop those steps likewise. A validation after that step
  // is removed as well where the run is about to do it again: unless it `is_validated`. Throws
  // Error(io).
  MetricsLog(const std::filesystem::path& work_dir, int64_t steps_done, std::string units,
             bool is_validated = true);

  // Each throws Error(io).
  void add(const TrainMetrics& metrics);
  void add(const ValidationMetrics& metrics);

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
  TensorboardWriter tensorboard_;
  std::string units_;
};

// The mean of loss and speed over the steps between two lines. Not thread-safe.
class MetricsWindow {
 public:
  void add_step(double num_units, double seconds, double wait_seconds);
  // Of a step: a GPU's is there later than the step has been queued.
  void add_loss(double loss) { loss_sum_ += loss; }
  int64_t num_steps() const { return num_steps_; }
  // The metrics of the steps since the last call, at least one, whose losses are all there; starts
  // anew.
  TrainMetrics take(int64_t step, int64_t epoch, double lr);

 private:
  int64_t num_steps_ = 0;
  double num_units_ = 0;
  double loss_sum_ = 0;
  double seconds_ = 0;
  double wait_seconds_ = 0;
};

}  // namespace ffkit
