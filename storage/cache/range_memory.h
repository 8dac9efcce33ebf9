// RangeMemory: ranges of objects that are fetched ahead and stay in memory until they were read:
// what is announced where the cache keeps nothing, because it is off or full. A record that is read
// takes its bytes of the range, and the range goes with its last byte. One a process. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cache/block_reader.h"
#include "cache/fetch_queue.h"

namespace ffkit {

class RangeMemory : public std::enable_shared_from_this<RangeMemory> {
 public:
  using Done = BlockReader::Done;
  using Fetch = BlockReader::Fetch;

  // Two windows of 64 blocks of 8 MiB, one of which is read, and a little more: blocks differ.
  static constexpr int64_t kMostBytes = int64_t{1280} << 20;

  explicit RangeMemory(int64_t max_bytes = kMostBytes,
                       int ranges_at_first = FetchQueue::kUnderwayAtFirst)
      : max_bytes_(max_bytes), queue_(threads_, ranges_at_first) {}
  RangeMemory(const RangeMemory&) = delete;
  RangeMemory& operator=(const RangeMemory&) = delete;

  static std::shared_ptr<RangeMemory> of_process();

  // Has a range of `object` fetched by one request, when it may be underway. It is taken to be read
  // once; where it is there already, or begins in one that is, once more. Nothing happens for one
  // of less than a MiB, which is no better than the reads themselves, and where the memory is full.
  // Ranges that nobody has read of for long make room. Does not wait.
  void announce(const void* object, int64_t offset, int64_t num_bytes, const Fetch& fetch);
  // Reads bytes of a range that is there or underway: then `done` is called in any thread, and
  // `out` stays until then. False, and nothing happens: there is none.
  bool read(const void* object, int64_t offset, std::span<std::byte> out, const Done& done);
  // Whether these bytes are in a range that is not there yet.
  bool is_coming(const void* object, int64_t offset, int64_t num_bytes);
  // Drops the ranges of `object`, which nobody reads.
  void forget(const void* object);

  int64_t num_bytes();  // of all ranges

 private:
  struct Waiter {
    int64_t offset;  // in the range
    std::span<std::byte> out;
    Done done;
  };
  enum class State { waiting, underway, there };
  struct Range {
    int64_t offset = 0;
    int64_t num_bytes = 0;
    int64_t num_unread = 0;
    int64_t used_at = 0;  // number of the announcement before
    State state = State::waiting;
    std::unique_ptr<std::byte[]> bytes;
    std::vector<Waiter> waiters;
  };
  using Key = std::pair<const void*, int64_t>;  // object, offset
  using Ranges = std::map<Key, std::shared_ptr<Range>>;

  Ranges::iterator find(const void* object, int64_t offset, int64_t num_bytes);
  void erase(Ranges::iterator range);
  void drop(const Key& key, const std::shared_ptr<Range>& range);
  void make_room(int64_t num_bytes);
  void begin(const Key& key, const std::shared_ptr<Range>& range, const Fetch& fetch);
  void arrived(const Key& key, const std::shared_ptr<Range>& range,
               const std::exception_ptr& error);

  const int64_t max_bytes_;
  std::mutex mutex_;  // guards what follows
  Ranges ranges_;
  int64_t num_bytes_ = 0;
  int64_t num_announced_ = 0;
  FetchQueue queue_;
  CacheThreads threads_;  // last, since they use what is above
};

}  // namespace ffkit
