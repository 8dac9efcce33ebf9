// BlockReader: an object behind the cache. What a block of the cache has is read there. Otherwise
// the block is fetched, once however many want it, here and in other processes; or, where the cache
// is full or has too much underway, what is wanted alone. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "cache/block_cache.h"
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
  // Has the blocks of these bytes fetched that are not there, each when it may be underway. Does
  // not wait.
  void announce(int64_t offset, int64_t num_bytes);
  // Whether the blocks of these bytes that are not there are underway, or wait for that.
  bool is_coming(int64_t offset, int64_t num_bytes);

 private:
  struct Waiter {
    int64_t offset;  // in the block
    std::span<std::byte> out;
    Done done;
  };

  void need(int64_t block, Waiter waiter);
  bool seems_held(int64_t block) const;
  void announce_block(int64_t block);
  void begin_announced(int64_t block);
  void start(int64_t block);
  void arrived(int64_t block, const std::shared_ptr<std::byte[]>& bytes,
               const std::exception_ptr& error);
  void read_from_file(int64_t block);
  void fetch_alone(int64_t block);
  std::vector<Waiter> take_waiters(int64_t block);

  const std::shared_ptr<BlockCache> cache_;
  const std::unique_ptr<CacheFile> file_;
  const Fetch fetch_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<Waiter>> underway_;  // by block
  std::set<int64_t> announced_;                      // that wait until they may be underway
};

}  // namespace ffkit
