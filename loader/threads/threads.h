// What the loader's threads share: how they start, how they wake each other, and where their
// warnings go.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <ffkit/format/shard_reader.h>

namespace ffkit {

// A thread that runs `run`. `what` is its purpose, as in "the loader's I/O thread". Throws
// Error(io) where the system gives no more threads.
std::thread start_thread(std::string_view what, std::function<void()> run);

// One thread sleeps until others tell it to look again. A notify() before wait() is not
// lost. Thread-safe; one waiter.
class Event {
 public:
  void notify() {
    // Notifying under the lock lets the waiter destroy the event as soon as it has seen what it
    // waited for.
    std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_one();
  }

  // Blocks until notify() has been called since the last wait() returned.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
    is_set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

// Where the loader's warnings go: LoaderOptions::on_warning, or spdlog's default logger.
using WarningSink = std::function<void(std::string_view)>;

// Makes spdlog's default logger where there is none yet, before the loader's threads do so at the
// same time.
void prepare_log(const WarningSink& sink);

// What `sink` throws is dropped: a message is not worth an epoch.
void warn(const WarningSink& sink, const std::string& message) noexcept;

// What the loader's threads count and show of themselves: StatsCounters is LoaderStatistics as it
// is counted, by all of them at once; ReadWatch says since when each has been at what.

// Nanoseconds of a clock that never goes back.
inline int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// Every atomic member is independent of the others.
struct StatsCounters {
  std::atomic<int64_t> num_batches{0};
  std::atomic<int64_t> num_samples{0};
  std::atomic<int64_t> num_replaced{0};
  std::atomic<int64_t> num_left_out{0};
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
  std::atomic<int64_t> num_items_left_out{0};
  std::mutex mutex;                           // guards the next
  std::string first_left_out;                 // of these items: record and words
  std::atomic<int64_t> num_ready_batches{0};  // summed over calls of next()

  // A read of `file` that began at `begin_ns` has ended with `result`: bytes or -errno.
  void add_read(int64_t begin_ns, int64_t result, const ShardReader::OpenFile& file) {
    num_reads.fetch_add(1, std::memory_order_relaxed);
    read_ns.fetch_add(now_ns() - begin_ns, std::memory_order_relaxed);
    if (result <= 0) return;
    bytes_read.fetch_add(result, std::memory_order_relaxed);
    if (file.descriptor < 0) bytes_from_store.fetch_add(result, std::memory_order_relaxed);
  }
};

// Since when each read and each sample has been worked on. It tells the consumer of a
// file system that hangs, wherever a thread is stuck in it. Thread-safe; one thread at a time for
// each entry.
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
