// BlockRun: blocks of an object, one behind the other, that one request fetches, and the
// memory that they come to.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "cache/cache_file.h"

namespace ffkit {

// Where a read needs a block that is not there, those of the 8 MiB around it come with it: a
// request of 2 MiB takes nearly as long, and costs as much.
inline constexpr int64_t kBlocksAround = 4;
// A block of a windowed order, of 8 MiB in the mean, has a part of six at most.
inline constexpr int64_t kMostBlocksOfRun = 6;
inline constexpr int64_t kMostBytesOfRun = kMostBlocksOfRun * kBlockBytes;

struct BlockRun {
  int64_t first = 0;
  int64_t count = 0;

  int64_t end() const { return first + count; }
};

// Precondition: num_bytes > 0.
inline BlockRun blocks_that_hold(int64_t offset, int64_t num_bytes) {
  const int64_t first = offset / kBlockBytes;
  return {first, (offset + num_bytes - 1) / kBlockBytes + 1 - first};
}

// The aligned groups of kBlocksAround that a run touches, of an object of `num_blocks`.
inline BlockRun with_blocks_around(BlockRun run, int64_t num_blocks) {
  const int64_t first = run.first / kBlocksAround * kBlocksAround;
  const int64_t end = (run.end() + kBlocksAround - 1) / kBlocksAround * kBlocksAround;
  return {first, std::min(end, num_blocks) - first};
}

// Blocks, their numbers ascending, as few runs as they are.
inline std::vector<BlockRun> runs_of(std::span<const int64_t> blocks) {
  std::vector<BlockRun> runs;
  for (const int64_t block : blocks) {
    const bool goes_on =
        !runs.empty() && runs.back().end() == block && runs.back().count < kMostBlocksOfRun;
    if (!goes_on) runs.push_back({block, 0});
    ++runs.back().count;
  }
  return runs;
}

// BlockMemory: memory for blocks that are underway. What has been given back serves the next ones,
// because the kernel clears memory that is new: that was 1.1 s of 16.4 s of processor time, over an
// epoch of 1 GB that writes the cache, and 0.2 s from a local disk. Meanwhile the kernel may take
// it, where memory is short. Thread-safe.
class BlockMemory {
 public:
  // `block_bytes` each; up to `most_unused` of them are kept when nobody has them.
  BlockMemory(size_t block_bytes, size_t most_unused)
      : spare_(std::make_shared<Spare>(block_bytes, most_unused)) {}

  // `block_bytes` of any content; it goes back with the last that holds it, also after this is
  // destroyed.
  std::shared_ptr<std::byte[]> take() const {
    Memory memory = spare_->take();
    auto give_back = [spare = spare_](std::byte* bytes) { spare->give_back(Memory(bytes)); };
    return {memory.release(), std::move(give_back)};
  }

 private:
  static constexpr size_t kPage = 4096;  // madvise() is told of whole ones

  struct Delete {
    void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{kPage}); }
  };
  using Memory = std::unique_ptr<std::byte[], Delete>;

  class Spare {
   public:
    Spare(size_t block_bytes, size_t most_unused)
        : whole_bytes_((block_bytes + kPage - 1) / kPage * kPage), most_unused_(most_unused) {
      unused_.reserve(most_unused);
    }

    Memory take() {
      {
        const std::scoped_lock lock(mutex_);
        if (!unused_.empty()) {
          Memory memory = std::move(unused_.back());
          unused_.pop_back();
          return memory;
        }
      }
      return Memory(
          static_cast<std::byte*>(::operator new (whole_bytes_, std::align_val_t{kPage})));
    }
    void give_back(Memory memory) {
      ::madvise(memory.get(), whole_bytes_, MADV_FREE);
      const std::scoped_lock lock(mutex_);
      if (unused_.size() < most_unused_) unused_.push_back(std::move(memory));
    }

   private:
    const size_t whole_bytes_;
    const size_t most_unused_;
    std::mutex mutex_;  // guards what follows
    std::vector<Memory> unused_;
  };

  const std::shared_ptr<Spare> spare_;
};

}  // namespace ffkit
