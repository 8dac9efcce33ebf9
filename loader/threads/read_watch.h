// ReadWatch: since when each read and each sample has been worked on. It tells the consumer of a
// file system that hangs, wherever a thread is stuck in it. Thread-safe; one thread at a time for
// each entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "threads/stats_counters.h"

namespace ffkit {

class ReadWatch {
 public:
  struct Work {
    int64_t since_ns = 0;       // of now_ns()
    int64_t record_index = -1;  // -1: no particular one
  };

  explicit ReadWatch(size_t num_entries) : entries_(num_entries) {}

  void begin(size_t entry, int64_t record_index) {
    entries_[entry].record_index.store(record_index, std::memory_order_relaxed);
    entries_[entry].since_ns.store(now_ns(), std::memory_order_release);
  }
  void end(size_t entry) { entries_[entry].since_ns.store(0, std::memory_order_release); }

  // What has taken longest so far.
  std::optional<Work> oldest() const {
    std::optional<Work> found;
    for (const Entry& entry : entries_) {
      const int64_t since_ns = entry.since_ns.load(std::memory_order_acquire);
      if (since_ns == 0 || (found && since_ns >= found->since_ns)) continue;
      found = {since_ns, entry.record_index.load(std::memory_order_relaxed)};
    }
    return found;
  }

 private:
  struct Entry {
    std::atomic<int64_t> since_ns{0};  // 0: nothing goes on
    std::atomic<int64_t> record_index{-1};
  };
  std::vector<Entry> entries_;
};

}  // namespace ffkit
