// GroupOrder: the sequence of Order::shuffle with groups in one epoch, see sampler.h: groups
// permuted, their records in order.
//
// Not thread-safe: it keeps the group used last.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/loader/permutation.h>

namespace ffkit {

class GroupOrder {
 public:
  // `starts` as in SamplerOptions::groups, and must outlive this; `key` stands for seed and epoch.
  GroupOrder(const std::vector<int64_t>& starts, int64_t num_records, uint64_t key);

  // The record at `position`, 0 .. num_records-1. O(1) from one position to the next, and to any
  // where all groups have one size.
  int64_t operator()(int64_t position);

 private:
  void go_to(int64_t place, int64_t begin);

  const std::vector<int64_t>& starts_;
  const int64_t num_records_;
  const Permutation groups_;
  int64_t common_size_ = 0;  // 0: they differ

  // The group used last: its place in the permuted order, its first position, its first record and
  // its size.
  int64_t place_ = 0;
  int64_t begin_ = 0;
  int64_t first_ = 0;
  int64_t size_ = 0;
};

}  // namespace ffkit
