// BlockReader: an object behind the cache. What a block of the cache has is read there. Otherwise
// the block is fetched with its neighbours, once however many want it, here and in other processes;
// or, where the cache is full or has too much underway, what is wanted alone. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cache/block_cache.h"
#include "cache/block_run.h"
#include "cache/cache_file.h"

namespace ffkit {

class BlockReader : public std::enable_shared_from_this<BlockReader> {
 public:
  using Done = std::function<void(std::exception_ptr)>;
  // Reads from the store; `done` may be called in any thread, and must be short.
  using Fetch = std::function<void(int64_t offset, std::span<std::byte> into, Done done)>;

  BlockReader(std::shared_ptr<BlockCache> cache, std::unique_ptr<CacheFile> file, Fetch fetch);

  const CacheFile& file() const { return *file_; }
  // `out` stays until `done` was called, in any thread, with null or what went wrong.
  void read(int64_t offset, std::span<std::byte> out, Done done);
  // Has the blocks of these bytes fetched that are not there, in runs, each when it may be
  // underway. Those around them come with them where the bytes are fewer than a MiB. Does not wait.
  void announce(int64_t offset, int64_t num_bytes);
  // Whether the blocks of these bytes that are not there are underway, or wait for that.
  bool is_coming(int64_t offset, int64_t num_bytes);

 private:
  struct Waiter {
    int64_t offset;  // in the object
    std::span<std::byte> out;
    Done done;
  };

  // A place in the cache's queue, which a run has until its last block has ended.
  class Place {
   public:
    explicit Place(std::shared_ptr<BlockCache> cache) : cache_(std::move(cache)) {}
    ~Place() { cache_->queue().end(has_come_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    void set_has_come() { has_come_ = true; }

   private:
    const std::shared_ptr<BlockCache> cache_;
    std::atomic<bool> has_come_{false};
  };
  using SharedPlace = std::shared_ptr<Place>;

  enum class State { there, claimed, elsewhere, unreadable };

  bool is_on_its_way(int64_t block) const;
  bool seems_held(int64_t block) const;
  std::vector<BlockRun> announce_blocks(std::vector<int64_t> blocks);
  void begin_announced(const BlockRun& run);
  void need(const std::vector<Waiter>& waiters);
  BlockRun begin_around(BlockRun run);
  void start(const BlockRun& run, const SharedPlace& place);
  State look_at(int64_t block) const;
  void start_as(State state, const BlockRun& run, const SharedPlace& place);
  void fetch_run(const BlockRun& run, const SharedPlace& place);
  void arrived(const BlockRun& run, const std::shared_ptr<std::byte[]>& bytes,
               const std::exception_ptr& error);
  void read_from_file(int64_t block);
  void fetch_alone(std::vector<Waiter> waiters) const;
  std::vector<Waiter> take_waiters(int64_t block);
  std::vector<Waiter> take_waiters(const BlockRun& run);
  int64_t bytes_of(const BlockRun& run) const;

  const std::shared_ptr<BlockCache> cache_;
  const std::unique_ptr<CacheFile> file_;
  const Fetch fetch_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<Waiter>> underway_;  // by block
  std::set<int64_t> announced_;                      // blocks that wait until they may be underway
};

}  // namespace ffkit
