// BatchQueue: the batches of epochs that follow one another. The I/O thread opens them in order,
// the decoding threads fill them in any order, and the consumer takes them in order.
//
//      taken | front: being filled or complete | ... | newest | not yet opened
//            |<------------- at most `depth` batches -------->|
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>

#include "batch/slab_pool.h"
#include "io/read_plan.h"

namespace ffkit {

class BatchQueue;

// A sample on its way from the read to its slab.
struct PendingSample {
  std::span<const std::byte> record;  // as stored
  Dataset::Location location;         // where it was read from
  // Where the record lies; null when there is only an error.
  ReadBufferPool::Buffer* buffer = nullptr;
  bool is_shared = false;    // read together with others
  bool is_cached = false;    // to be read by the decoding thread: there is no `record` yet
  bool is_split = false;     // of `record` there are only the wanted fields (FieldReads)
  int num_reads_left = 1;    // the I/O thread's
  std::exception_ptr error;  // why there is no record
};

struct PendingBatch {
  BatchQueue* queue = nullptr;
  BatchSlab* slab = nullptr;           // set while the batch is open
  std::vector<PendingSample> samples;  // as many as slab->size
  std::atomic<int64_t> num_left{0};    // samples not yet finished
  // Guarded by the queue's mutex:
  bool is_complete = false;
  // Index in the batch of the first bad sample, whichever thread came first.
  int64_t first_failed = -1;
  std::exception_ptr error;  // of that sample

  // For the decoding threads. Before finish(): another record, of data set `source`, took the place
  // of a bad one; or a bad one is left out; or a sample could not be had.
  void replace_sample(Replacement replacement, int64_t record_index, int32_t source);
  void leave_out(LeftOut sample);
  void fail_sample(int64_t index_in_batch, std::exception_ptr failure);
  // `count` more samples are done with. Returns true to the thread that did the last ones, which
  // calls complete().
  bool finish(int64_t count);
  void complete();
};

class BatchQueue {
 public:
  BatchQueue(int64_t depth, int64_t batch_size);

  // I/O thread: the next batch, empty, to be given a slab and samples; null while `depth` batches
  // are open.
  PendingBatch* open();
  // I/O thread: nothing more will come; take_front() throws `error` from now on.
  void fail(std::exception_ptr error);

  // Consumer: blocks until the front batch is complete, closes it and returns its slab. Throws the
  // error of its first bad sample.
  BatchSlab* take_front();
  // Whether take_front() would return, or throw, without blocking.
  bool front_is_complete() const;
  // The same once that is so, or after `limit`.
  bool wait_for_front(std::chrono::nanoseconds limit);
  // Batches that are complete and not yet taken.
  int64_t num_complete() const;

  // The slabs of the batches still open; for the end of the epoch, when no other thread is at work.
  std::vector<BatchSlab*> close_all();

 private:
  friend struct PendingBatch;
  PendingBatch& at(int64_t step) { return batches_[static_cast<size_t>(step) % batches_.size()]; }
  const PendingBatch& at(int64_t step) const {
    return batches_[static_cast<size_t>(step) % batches_.size()];
  }
  bool front_is_over() const;

  std::vector<PendingBatch> batches_;  // a ring
  mutable std::mutex mutex_;           // guards what follows
  std::condition_variable completed_;
  int64_t num_opened_ = 0;
  int64_t num_taken_ = 0;
  int64_t num_complete_ = 0;
  std::exception_ptr error_;
};

}  // namespace ffkit
