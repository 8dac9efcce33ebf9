// EpochRun: epochs in progress, one after another, from a given position: the I/O thread and the queue of its batches. Used by the
// consumer thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include <ffkit/loader/batch.h>

#include "batch_queue.h"
#include "loader_parts.h"
#include "read_loop.h"

namespace ffkit {

class EpochRun {
 public:
  // Starts to read ahead at once. `parts` must outlive the run and serve one run at a time.
  EpochRun(LoaderParts& parts, int64_t epoch, int64_t start);
  // Waits for the reads and the decoding of samples in progress, drops the rest.
  ~EpochRun();
  EpochRun(const EpochRun&) = delete;
  EpochRun& operator=(const EpochRun&) = delete;

  // Goes on to `epoch` with what has been read ahead. False, and nothing changes, unless all batches of the one before it were returned.
  bool go_on_to(int64_t epoch);
  // As Loader::next().
  std::optional<Batch> next();
  bool ready() const;

  int64_t epoch() const { return epoch_; }
  // The sampler's position behind the batches that next() has returned.
  int64_t position() const;

 private:
  void read_all() noexcept;

  LoaderParts& parts_;
  int64_t epoch_;
  int64_t start_;
  int64_t num_steps_;  // of this epoch on this rank
  int64_t num_returned_ = 0;
  bool at_end_ = false;
  BatchQueue queue_;
  ReadLoop loop_;
  std::atomic<bool> stop_{false};
  std::thread io_thread_;
};

}  // namespace ffkit
