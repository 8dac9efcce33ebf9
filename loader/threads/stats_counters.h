// StatsCounters: LoaderStatistics as it is counted, by all threads at once. Every member is
// independent of the others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ffkit {

// Nanoseconds of a clock that never goes back.
inline int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

struct StatsCounters {
  std::atomic<int64_t> num_batches{0};
  std::atomic<int64_t> num_samples{0};
  std::atomic<int64_t> num_replaced{0};
  std::atomic<int64_t> bytes_read{0};
  std::atomic<int64_t> bytes_from_store{0};
  std::atomic<int64_t> num_reads{0};
  std::atomic<int64_t> read_ns{0};
  std::atomic<int64_t> checksum_ns{0};
  std::atomic<int64_t> decode_ns{0};
  std::atomic<int64_t> transform_ns{0};
  std::atomic<int64_t> busy_ns{0};
  std::atomic<int64_t> wait_ns{0};
  std::atomic<bool> resized_grey_of_16_bits{false};
  std::atomic<int64_t> num_ready_batches{0};  // summed over calls of next()
};

}  // namespace ffkit
