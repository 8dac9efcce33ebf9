// BlockRun: blocks of an object, one behind the other, that one request fetches.
#pragma once

#include <algorithm>
#include <cstdint>
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

}  // namespace ffkit
