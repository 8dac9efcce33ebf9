// WindowedOrder: the sequence of Order::windowed in one epoch, see sampler.h. A permutation of 0 ..
// n-1 for any n.
//
//   blocks by record number    0 | 1 | 2 | 3 | 4.     the last one may be shorter
//   permuted                   3   0 | 4.  1 | 2      | cuts windows of window_blocks = 2
//   records                    permuted within each window
//
// Not thread-safe: it keeps the permutation of the window used last.
#pragma once

#include <cstdint>

#include <ffkit/loader/permutation.h>

namespace ffkit {

class WindowedOrder {
 public:
  // All >= 1; `key` stands for seed and epoch.
  WindowedOrder(int64_t num_records, int64_t window_block, int64_t window_blocks, uint64_t key);

  // The record at `position`, 0 .. n-1.
  int64_t operator()(int64_t position);

 private:
  // Records in the first `num_blocks` blocks of the permuted order.
  int64_t records_before(int64_t num_blocks) const;

  const uint64_t key_;
  const int64_t block_records_;
  const int64_t num_blocks_;
  const int64_t window_blocks_;
  const int64_t missing_;      // records that the last block lacks
  const int64_t short_place_;  // where the last block stands in the permuted order
  const Permutation blocks_;   // of the others

  // The window that was used last: its first position, its size and the permutation of its records.
  int64_t window_begin_ = 0;
  int64_t window_size_ = 0;
  Permutation records_;
};

}  // namespace ffkit
