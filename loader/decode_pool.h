// DecodePool: threads that work off chunks of samples in the order they were submitted.
//
// Thread-safe. `work` is called on the pool's threads and must not throw.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "batch_queue.h"

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

  // At most `capacity` chunks wait at any time. Throws std::system_error when the system gives no more threads.
  DecodePool(int num_threads, size_t capacity, Work work);
  // Drops what has not begun and waits for what has.
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  void submit(std::span<const SampleChunk> chunks);
  // Drops what has not begun and waits for what has.
  void cancel();

 private:
  void run(int slot);
  void stop() noexcept;

  const Work work_;

  std::mutex mutex_;                  // guards what follows
  std::condition_variable arrived_;   // chunks, or the end
  std::condition_variable idle_;      // nothing is being worked on
  std::vector<SampleChunk> waiting_;  // a ring, oldest first from first_
  size_t first_ = 0;
  size_t num_waiting_ = 0;
  size_t num_asleep_ = 0;
  size_t num_working_ = 0;
  bool stop_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace ffkit
