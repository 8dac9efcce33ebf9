// The cache folder: its files, and how this process uses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/storage/cache.h>

#include "base/file/file.h"
#include "cache/block_run.h"
#include "cache/cache_file.h"
#include "cache/fetch_queue.h"

namespace ffkit {

// The sets of a cache folder, and who uses them. A set is the folder that objects are in; each has
// a file "ffkit-<set>.set" with its address, which whoever uses the set has locked.

// That this process uses a set, as long as it is there: nothing of the set leaves the cache.
class SetInUse {
 public:
  // Throws Error(io).
  SetInUse(const std::filesystem::path& folder, const std::string& address);

 private:
  File file_;
};

// Where the cache is if nobody says where.
std::filesystem::path default_cache_folder();

// Where blocks of an object are kept: "ffkit-<set>-<object>.blocks".
std::filesystem::path cache_file_of(const std::filesystem::path& folder,
                                    const std::string& set_address, const std::string& key);

// The bytes that the cache's files take on the disk.
int64_t bytes_in_cache(const std::filesystem::path& folder);
// Removes files of sets that nobody uses, those first that were not used for longest, until there
// are `num_bytes` less. Returns what it removed.
int64_t remove_unused(const std::filesystem::path& folder, int64_t num_bytes);

// The cache folder as this process uses it: its bound, its threads, and the sets in use. One a
// process. Thread-safe.
class BlockCache {
 public:
  // Throws Error(io) where the folder cannot be made, Error(invalid_argument) for one in memory.
  // `runs_at_first`: that may be underway, of FetchQueue::kMostUnderway.
  explicit BlockCache(const CacheOptions& options,
                      int runs_at_first = FetchQueue::kUnderwayAtFirst);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // That of this process, by its options; null: there is none. Where it cannot be had, that is said
  // once on stderr, and there is none.
  static std::shared_ptr<BlockCache> of_process();

  const std::filesystem::path& folder() const { return options_.folder; }
  // Whether so many blocks, of so many bytes in all, may be written; then settle() is to be called
  // for each once it was, or will not be. What others wrote within the last second may be missing
  // from the sum. Says once that the folder is full.
  bool reserve(int64_t num_blocks, int64_t num_bytes);
  void settle(int64_t block_bytes, bool is_written);
  // A write failed for want of space: nothing more is written for a while.
  void disk_is_full();
  // Says once that files of the cache cannot be had.
  void say_broken(const Error& error);
  // Keeps the set in use as long as this process lives.
  void use_set(const std::string& address);

  // The runs of blocks that are underway, and memory for them.
  FetchQueue& queue() { return queue_; }
  const BlockMemory& memory() const { return memory_; }

  CacheThreads& threads() { return threads_; }

 private:
  using Clock = std::chrono::steady_clock;

  void count_again();

  CacheOptions options_;
  std::mutex mutex_;            // guards what follows
  int64_t used_bytes_ = 0;      // on the disk, by the last count and what was written since
  int64_t reserved_bytes_ = 0;  // and not written yet
  Clock::time_point counted_at_;
  Clock::duration count_time_{};
  Clock::time_point full_until_;
  bool has_said_full_ = false;
  bool has_said_broken_ = false;
  std::map<std::string, std::unique_ptr<SetInUse>> sets_;
  FetchQueue queue_;
  const BlockMemory memory_{kMostBytesOfRun, FetchQueue::kMostUnderway};
  CacheThreads threads_;  // last, since they use what is above
};

}  // namespace ffkit
