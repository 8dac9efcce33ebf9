// The sequences of records that Sampler deals out, one class for each way to draw them. They know
// no ranks and no batches, but for the buckets, whose batches are of one of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <ffkit/loader/permutation.h>
#include <ffkit/loader/sampler.h>

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

// The sequence of Order::windowed in several streams, or in blocks of bytes, see sampler.h:
//
//   runs (shards) permuted          | C        | A    | B          |   cut into streams of as many
//   streams                         | 0       | 1         | 2      |   records, but for one
//   blocks of a stream, permuted      2 0 | 1 3 |                      cut into windows
//   records                           permuted within each window
//   the epoch                       0 1 2 0 1 2 0 1 2 ...              a record of each stream
//
// So a stream has few shards, and what lies in two of its blocks, such as a record across the end
// of a block of the cache, is read on one machine. Runs are permuted by the seed alone: a stream
// has the same records in each epoch, which the cache of a machine then has. All else is drawn anew
// in each epoch.
//
// Of the streams that were asked for, an epoch takes 16 bytes of memory a block; the last two
// epochs are kept.

// One stream of one epoch.
struct RecordStream {
  struct Block {
    int64_t position = 0;  // of its first record in the stream before windows are permuted
    int64_t first_record = 0;
  };
  int64_t num_records = 0;
  uint64_t key = 0;
  std::vector<Block> blocks;    // permuted
  std::vector<size_t> windows;  // the first block of each, and the number of blocks at the end
};

// Which blocks there are: made once for all epochs. Thread-safe.
class BlockStreams {
 public:
  // `options` are checked.
  BlockStreams(int64_t num_records, const SamplerOptions& options);

  int64_t num_streams() const { return num_streams_; }
  // The record at a place of the order in which files have them.
  int64_t record_at(int64_t place) const {
    return records_ == nullptr ? place : (*records_)[static_cast<size_t>(place)];
  }
  // `key` stands for seed and epoch.
  std::shared_ptr<const RecordStream> stream(uint64_t key, int64_t stream) const;

  // Behind the end of the epoch it goes on at its beginning, each position with another of its own
  // stream.
  int64_t within(int64_t position, int64_t epoch_size) const {
    const int64_t plain = position % epoch_size;
    const int64_t round = plain / num_streams_ * num_streams_;
    const bool is_whole_round = position >= epoch_size && round + num_streams_ <= epoch_size;
    return is_whole_round ? round + position % num_streams_ : plain;
  }

  // Takes `count` positions from `first` on, sorted by stream and position, and calls visit() for
  // `num_visited` of them from number `skipped` on.
  template <typename Visit>
  void for_positions_by_stream(int64_t first, int64_t count, int64_t skipped, int64_t num_visited,
                               const Visit& visit) const {
    for (int64_t stream = 0; stream < num_streams_ && num_visited > 0; ++stream) {
      const int64_t behind = (stream - first % num_streams_ + num_streams_) % num_streams_;
      const int64_t of_stream = behind < count ? (count - behind - 1) / num_streams_ + 1 : 0;
      const int64_t left_out = std::min(skipped, of_stream);
      const int64_t end = std::min(of_stream, left_out + num_visited);
      for (int64_t i = left_out; i < end; ++i) visit(first + behind + i * num_streams_);
      skipped -= left_out;
      num_visited -= end - left_out;
    }
  }

 private:
  struct Run {
    int64_t position = 0;  // in the sequence that is cut into streams
    int64_t first_place = 0;
    int64_t num_records = 0;
    int64_t num_bytes = 0;  // records, where blocks are of records
    int64_t num_blocks = 1;
  };
  struct Epoch {
    uint64_t key = 0;
    std::map<int64_t, std::shared_ptr<const RecordStream>> streams;
  };

  void permute_runs(uint64_t seed);
  int64_t block_begin(const Run& run, int64_t block) const;
  int64_t block_of(const Run& run, int64_t record) const;
  std::shared_ptr<const RecordStream> make_stream(uint64_t key, int64_t stream) const;

  const int64_t num_records_;
  const int64_t num_streams_;
  const int64_t block_bytes_;  // or records
  const int64_t window_blocks_;
  std::vector<Run> runs_;                                // permuted
  std::shared_ptr<const std::vector<int64_t>> records_;  // null: places are record numbers
  mutable std::mutex mutex_;                             // guards what follows
  mutable std::deque<Epoch> epochs_;                     // the last one first
};

// The records of an epoch by position. Not thread-safe: it keeps the window that was used last.
class StreamedOrder {
 public:
  // `streams` must outlive this; `key` stands for seed and epoch.
  StreamedOrder(const BlockStreams& streams, uint64_t key) : streams_(streams), key_(key) {}

  // The record at `position`, 0 .. num_records-1.
  int64_t operator()(int64_t position);
  // The first and the last record of the block that the last record was in.
  std::pair<int64_t, int64_t> block() const;

 private:
  void go_to_window(int64_t place);

  const BlockStreams& streams_;
  const uint64_t key_;
  int64_t number_ = -1;  // of the stream
  std::shared_ptr<const RecordStream> stream_;
  size_t first_block_ = 0;  // of the window
  size_t end_block_ = 0;
  int64_t window_begin_ = 0;
  int64_t window_size_ = 0;
  size_t last_block_ = 0;  // that a record was taken of
  Permutation records_{1, 0};
};

// MixedOrder: the sequence of Order::shuffle with a mixture in one epoch, see sampler.h.
//
//   the epoch's samples by data set   0 0 0 0 0 0 1 1 1 2 2 2
//   permuted                          0 2 0 0 1 0 2 1 0 0 2 1
//
// Sample j of a data set of R records is record j % R of its permutation j / R.
//
// Immutable, so thread-safe.

// What a mixture has of each data set in an epoch.
class MixedSets {
 public:
  // `counts` are those of mixture_counts().
  MixedSets(const Mixture& mixture, const std::vector<int64_t>& counts);

  struct Set {
    int64_t first_record = 0;
    int64_t num_records = 0;
    int64_t first_sample = 0;  // where all samples of the epoch stand by data set
  };
  int64_t epoch_size() const { return epoch_size_; }
  // The data sets' numbers.
  int64_t of_sample(int64_t sample) const;
  int64_t of_record(int64_t record) const;
  const Set& operator[](int64_t set) const { return sets_[set]; }

 private:
  std::vector<Set> sets_;
  int64_t epoch_size_ = 0;
};

class MixedOrder {
 public:
  // `sets` must outlive this; `key` stands for seed and epoch.
  MixedOrder(const MixedSets& sets, uint64_t key);

  struct Sample {
    int64_t record = 0;
    int64_t repetition = 0;  // how many times all records of its data set are used up before
  };
  // At `position`, 0 .. epoch_size-1. O(log of the number of data sets).
  Sample operator()(int64_t position) const;

 private:
  const MixedSets& sets_;
  const uint64_t key_;
  const Permutation samples_;
};

}  // namespace ffkit
