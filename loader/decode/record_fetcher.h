// RecordFetcher: the record of a sample, checked and decompressed, from what the I/O thread read,
// from the page cache or by a read of its own. Keeps the memory for it, and bounds that of large
// records (RecordMemory).
//
// Thread-safe as long as no two threads are the same `worker` at the same time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record_unpacker.h>

#include "batch/batch_queue.h"
#include "io/cached_reader.h"
#include "threads/stats_counters.h"

namespace ffkit {

// The memory that the decoding threads together have for large records, copied from
// the page cache or decompressed. A thread that wants more than is free waits for the others.
// Thread-safe.
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

// The longest record that the shards of `dataset` give, as stored and decompressed.
int64_t max_record_bytes(const Dataset& dataset);

class RecordFetcher {
 public:
  // What is given by reference must outlive the fetcher.
  RecordFetcher(const Dataset& dataset, int num_threads, bool verify_checksums,
                const CachedReader& cached_reader, StatsCounters& stats);

  // What these return is valid until the next call by the same worker. They throw the Error of a
  // record that cannot be had.
  std::span<const std::byte> fetch(int worker, const PendingSample& sample);
  // A record through the page cache, outside the engine's order.
  std::span<const std::byte> fetch_alone(int worker, int64_t record_index);
  // Gives back the memory of a large record, which others may wait for.
  void release_large(int worker);

 private:
  struct Memory {
    RecordUnpacker unpacker;
    std::vector<std::byte> cached;  // as stored; of the cached reader
    std::vector<std::byte> alone;   // as stored; of fetch_alone()
    int64_t large_bytes = 0;        // taken of budget_ for what lies in these

    void drop_buffers();
  };

  Memory& of(int worker) { return memory_[worker]; }
  void reserve(int worker, int64_t num_bytes);

  const Dataset& dataset_;
  const bool verify_checksums_;
  const CachedReader& cached_reader_;
  StatsCounters& stats_;
  RecordMemory budget_;
  std::vector<Memory> memory_;  // by worker
};

}  // namespace ffkit
