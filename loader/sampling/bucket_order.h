// BucketOrder: the sequence of Order::shuffle with buckets, see sampler.h: batches of one bucket
// each, in a random order, then what is left of each bucket.
//
//   | batch of bucket 2 | batch of bucket 0 | batch of bucket 2 | ... | rest of 0 | rest of 1 | ...
//
// Immutable, so thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/loader/permutation.h>

namespace ffkit {

// Which records are in which bucket: made once for all epochs.
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

}  // namespace ffkit
