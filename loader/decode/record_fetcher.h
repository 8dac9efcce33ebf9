// RecordFetcher: the record of a sample, checked and decompressed, from what the I/O thread read,
// from the page cache or by a read of its own. Keeps the memory for it, and bounds that of large
// records (RecordMemory).
//
// Thread-safe as long as no two threads are the same `worker` at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record_unpacker.h>

#include "allocation/record_memory.h"
#include "batch/batch_queue.h"
#include "io/cached_reader.h"
#include "threads/stats_counters.h"

namespace ffkit {

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
