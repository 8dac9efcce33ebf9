// DecodePool: threads that work off chunks of samples in the order they were submitted. Those with nothing to do help others with
// the parts of a sample.
//
// Thread-safe. `work` is called on the pool's threads and must not throw.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "batch/batch_queue.h"

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
  // `slot` is the thread's number, 0 .. num_threads-1: an index for scratch memory.
  using Work = std::function<void(int slot, const SampleChunk& chunk)>;
  using Part = std::function<void(int slot, int64_t index)>;

  // At most `capacity` chunks wait at any time. Throws Error(io) when the system gives no more threads.
  DecodePool(int num_threads, size_t capacity, Work work);
  // Drops what has not begun and waits for what has.
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  void submit(std::span<const SampleChunk> chunks);
  // For `work`, with the slot it was given: calls part(slot, index) once for each index of 0 .. count-1, here and on threads that no
  // chunk waits for, and returns when all are done. `part` must not throw.
  void share(int slot, int64_t count, const Part& part);
  // Drops what has not begun and waits for what has. False when some is still being worked on at `until`.
  bool cancel(std::chrono::steady_clock::time_point until);

 private:
  struct SharedWork {
    const Part* part = nullptr;
    int64_t count = 0;
    int64_t num_begun = 0;
    int64_t num_done = 0;
  };

  void run(int slot);
  void run_part(std::unique_lock<std::mutex>& lock, int slot, SharedWork& work);
  void stop() noexcept;

  const Work work_;

  std::mutex mutex_;                     // guards what follows
  std::condition_variable arrived_;      // chunks, parts, or the end
  std::condition_variable idle_;         // nothing is being worked on
  std::condition_variable shared_done_;  // some SharedWork is done
  std::vector<SharedWork*>
      shared_;  // with parts not yet begun, oldest first; they lie on the stacks of share()
  std::vector<SampleChunk> waiting_;  // a ring, oldest first from first_
  size_t first_ = 0;
  size_t num_waiting_ = 0;
  size_t num_asleep_ = 0;
  size_t num_working_ = 0;
  bool stop_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace ffkit
