// EpochRun: epochs in progress, one after another, from a given position: the I/O thread and the
// queue of its batches. Used by the consumer thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>

#include <ffkit/loader/batch.h>

#include "batch/batch_queue.h"
#include "loader_parts.h"
#include "read_loop.h"

namespace ffkit {

class EpochRun {
 public:
  // Starts to read ahead at once. `parts` must outlive the run and serve one run at a time.
  EpochRun(LoaderParts& parts, int64_t epoch, int64_t start);
  // Precondition: stop() has returned true, or the process ends.
  ~EpochRun();
  EpochRun(const EpochRun&) = delete;
  EpochRun& operator=(const EpochRun&) = delete;

  // Waits for the reads and the decoding of samples in progress, drops the rest. False when they
  // are not over after `limit`: then all that the threads use must stay, nothing but another stop()
  // makes sense.
  bool stop(std::chrono::nanoseconds limit);

  // Goes on to `epoch` with what has been read ahead. False, and nothing changes, unless all
  // batches of the one before it were returned.
  bool go_on_to(int64_t epoch);
  // As Loader::next().
  std::optional<Batch> next();
  // Whether all batches of this rank have been returned.
  bool at_end() const;
  bool ready() const;
  // As Loader::wait_for().
  bool wait_for(std::chrono::nanoseconds limit);

  // Whether stop() was called.
  bool is_stopping() const { return stop_; }
  int64_t epoch() const { return epoch_; }
  // The sampler's position behind the batches that next() has returned.
  int64_t position() const;

 private:
  void read_all() noexcept;
  void require_progress();
  void require_place_for_batch() const;

  LoaderParts& parts_;
  int64_t epoch_;
  int64_t start_;
  int64_t num_steps_;  // of this epoch on this rank
  int64_t num_returned_ = 0;
  bool at_end_ = false;
  BatchQueue queue_;
  ReadLoop loop_;
  std::atomic<bool> stop_{false};
  bool is_stopped_ = false;
  int64_t late_since_ns_ = 0;  // of the work that was found to take too long
  std::promise<void> io_ended_;
  std::future<void> io_end_ = io_ended_.get_future();
  std::thread io_thread_;
};

}  // namespace ffkit
