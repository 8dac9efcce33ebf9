// RecordMemory: the memory that the decoding threads together have for large records, copied from
// the page cache or decompressed. A thread that wants more than is free waits for the others.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace ffkit {

class RecordMemory {
 public:
  // Records up to this size, copied and decompressed bytes together, are not counted: each thread
  // keeps its memory for them.
  static constexpr int64_t kSmallBytes = 4 << 20;
  // Buffers of a thread that hold records: as stored, decompressed, and of replacements. A growing
  // one is held twice for a moment.
  static constexpr int64_t kKeptBytes = 6 * kSmallBytes;

  explicit RecordMemory(int64_t capacity_bytes) : free_bytes_(capacity_bytes) {}

  // Preconditions: no more than the capacity; the thread holds none.
  void take(int64_t num_bytes) {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return num_bytes <= free_bytes_; });
    free_bytes_ -= num_bytes;
  }
  void give_back(int64_t num_bytes) {
    {
      std::lock_guard lock(mutex_);
      free_bytes_ += num_bytes;
    }
    given_back_.notify_all();
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable given_back_;
  int64_t free_bytes_;
};

}  // namespace ffkit
