// ReadWatch: since when each read and each sample has been worked on. It tells the consumer of a file system that hangs, wherever a thread
// is stuck in it. Thread-safe; one thread at a time for each slot.
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

  explicit ReadWatch(size_t num_slots) : slots_(num_slots) {}

  void begin(size_t slot, int64_t record_index) {
    slots_[slot].record_index.store(record_index, std::memory_order_relaxed);
    slots_[slot].since_ns.store(now_ns(), std::memory_order_release);
  }
  void end(size_t slot) { slots_[slot].since_ns.store(0, std::memory_order_release); }

  // What has taken longest so far.
  std::optional<Work> oldest() const {
    std::optional<Work> found;
    for (const Slot& slot : slots_) {
      const int64_t since_ns = slot.since_ns.load(std::memory_order_acquire);
      if (since_ns == 0 || (found && since_ns >= found->since_ns)) continue;
      found = {since_ns, slot.record_index.load(std::memory_order_relaxed)};
    }
    return found;
  }

 private:
  struct Slot {
    std::atomic<int64_t> since_ns{0};  // 0: nothing goes on
    std::atomic<int64_t> record_index{-1};
  };
  std::vector<Slot> slots_;
};

}  // namespace ffkit
