// The sequences of records that Sampler deals out, one class for each way to draw them. They know
// no ranks and no batches, but for the buckets, whose batches are of one of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/loader/permutation.h>

namespace ffkit {

// The sequence of Order::windowed in one epoch, see sampler.h. A permutation of 0 ..
// n-1 for any n.
//
//   blocks by record number    0 | 1 | 2 | 3 | 4.     the last one may be shorter
//   permuted                   3   0 | 4.  1 | 2      | cuts windows of window_blocks = 2
//   records                    permuted within each window
//
// Not thread-safe: it keeps the permutation of the window used last.
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

// The sequence of Order::shuffle with groups in one epoch, see sampler.h: groups
// permuted, their records in order.
//
// Not thread-safe: it keeps the group used last.
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

// Which records are in which bucket: made once for all epochs. Immutable, so thread-safe.
class RecordBuckets {
 public:
  // `bucket_of` has a number, >= 0, for each record.
  RecordBuckets(const std::vector<int64_t>& bucket_of, int64_t batch_size);

  struct Bucket {
    int64_t first = 0;  // in records()
    int64_t size = 0;
    int64_t first_batch = 0;  // of its full batches, among those of all buckets
    int64_t first_rest = 0;   // of what is left, among what is left of all
  };
  int64_t batch_size() const { return batch_size_; }
  int64_t num_batches() const { return num_batches_; }  // full ones
  const std::vector<Bucket>& buckets() const { return buckets_; }
  int64_t record(const Bucket& bucket, int64_t i) const {
    return records_[static_cast<size_t>(bucket.first + i)];
  }
  const Bucket& of_record(int64_t record) const {
    return buckets_[bucket_of_[static_cast<size_t>(record)]];
  }

 private:
  int64_t batch_size_;
  int64_t num_batches_ = 0;
  std::vector<Bucket> buckets_;      // those that have records
  std::vector<int64_t> records_;     // by bucket, ascending in each
  std::vector<uint32_t> bucket_of_;  // by record: position in buckets_
};

// The sequence of Order::shuffle with buckets, see sampler.h: batches of one bucket each, in a
// random order, then what is left of each bucket. Immutable, so thread-safe.
//
//   | batch of bucket 2 | batch of bucket 0 | batch of bucket 2 | ... | rest of 0 | rest of 1 | ...
class BucketOrder {
 public:
  // `key` stands for seed and epoch. `buckets` must outlive this.
  BucketOrder(const RecordBuckets& buckets, uint64_t key);

  // The record at `position`, 0 .. num_records-1, in O(log of the number of buckets).
  int64_t operator()(int64_t position) const;

 private:
  int64_t drawn(const RecordBuckets::Bucket& bucket, int64_t i) const;

  const RecordBuckets& buckets_;
  const uint64_t key_;
  const Permutation batches_;
};

// The draws of Order::weighted: 0 .. n-1 with given probabilities in O(1): the alias method (Walker
// 1977) with Vose's construction ("A linear algorithm for generating random numbers with a given
// distribution", 1991). Immutable, so thread-safe.
//
// Each of n equally probable columns holds its own number and one other, its alias; a coin of the
// column chooses between them.
class AliasTable {
 public:
  // Throws Error(invalid_argument) for weights that are negative, not finite or all 0, and for none
  // or more than 2^32 of them.
  explicit AliasTable(std::span<const double> weights);

  int64_t size() const { return std::ssize(columns_); }
  // The number that `column`, 0 .. n-1, and the toss `coin` stand for.
  int64_t draw(int64_t column, uint32_t coin) const {
    const Column& at = columns_[column];
    return coin < at.threshold ? column : int64_t{at.alias};
  }

 private:
  struct Column {
    uint32_t threshold = 0;  // share of the column's own number, times 2^32
    uint32_t alias = 0;      // its own number where the share is 1
  };
  std::vector<Column> columns_;
};

}  // namespace ffkit
