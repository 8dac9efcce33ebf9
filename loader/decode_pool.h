// DecodePool: a TBB arena that works off chunks of samples in the order they were submitted.
//
// Thread-safe. `work` is called on the arena's threads, at most `num_threads` at a time, and must not throw.
#pragma once

#include <tbb/task_arena.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "batch_queue.h"
#include "worker_limit.h"

namespace ffkit {

// Some samples of a batch.
struct SampleChunk {
  static constexpr size_t kMaxSamples = 16;

  PendingBatch* batch = nullptr;
  size_t count = 0;
  std::array<int32_t, kMaxSamples> positions{};  // in the batch
};

class DecodePool {
 public:
  // `slot` is 0 .. num_threads-1 and held by one thread at a time: an index for scratch memory.
  using Work = std::function<void(int slot, const SampleChunk& chunk)>;

  // At most `capacity` chunks wait at any time.
  DecodePool(int num_threads, size_t capacity, Work work);
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  void submit(std::span<const SampleChunk> chunks);
  // Drops what has not begun and waits for what has.
  void cancel();

 private:
  void run_one();

  const Work work_;
  const WorkerLimit worker_limit_;
  tbb::task_arena arena_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable idle_;
  std::vector<SampleChunk> waiting_;  // a ring, oldest first from first_
  size_t first_ = 0;
  size_t num_waiting_ = 0;
  // TBB's own thread index does not serve: in an arena of one thread it may be 1.
  std::vector<int> free_slots_;
  size_t num_tasks_ = 0;  // in the arena, begun or not; each takes at most one chunk
};

}  // namespace ffkit
