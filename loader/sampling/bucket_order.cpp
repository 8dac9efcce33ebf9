#include "sampling/bucket_order.h"

#include <algorithm>
#include <map>

#include "base/mix64.h"

namespace ffkit {

RecordBuckets::RecordBuckets(const std::vector<int64_t>& bucket_of, int64_t batch_size)
    : batch_size_(batch_size) {
  std::map<int64_t, Bucket> found;  // by number
  for (const int64_t number : bucket_of) ++found[number].size;
  std::map<int64_t, uint32_t> places;
  int64_t num_records = 0;
  int64_t num_rest = 0;
  for (auto& [number, bucket] : found) {
    bucket.first = num_records;
    bucket.first_batch = num_batches_;
    bucket.first_rest = num_rest;
    num_records += bucket.size;
    num_batches_ += bucket.size / batch_size;
    num_rest += bucket.size % batch_size;
    places[number] = static_cast<uint32_t>(buckets_.size());
    buckets_.push_back(bucket);
  }
  records_.resize(bucket_of.size());
  bucket_of_.reserve(bucket_of.size());
  std::vector<int64_t> next;
  next.reserve(buckets_.size());
  for (const Bucket& bucket : buckets_) next.push_back(bucket.first);
  for (size_t record = 0; record < bucket_of.size(); ++record) {
    bucket_of_.push_back(places[bucket_of[record]]);
    records_[static_cast<size_t>(next[bucket_of_.back()]++)] = static_cast<int64_t>(record);
  }
}

BucketOrder::BucketOrder(const RecordBuckets& buckets, uint64_t key)
    : buckets_(buckets), key_(key), batches_(std::max<int64_t>(buckets.num_batches(), 1), key) {}

// Record `i` of the bucket in this epoch's order.
int64_t BucketOrder::drawn(const RecordBuckets::Bucket& bucket, int64_t i) const {
  const auto number = static_cast<uint64_t>(bucket.first);
  return buckets_.record(bucket, Permutation(bucket.size, mix64(key_, number + 1))(i));
}

int64_t BucketOrder::operator()(int64_t position) const {
  const int64_t size = buckets_.batch_size();
  const int64_t num_batched = buckets_.num_batches() * size;
  const bool is_batched = position < num_batched;
  const int64_t at = is_batched ? batches_(position / size) : position - num_batched;
  const auto first =
      is_batched ? &RecordBuckets::Bucket::first_batch : &RecordBuckets::Bucket::first_rest;
  // The last bucket that begins there: those before it may be empty.
  const auto next = std::ranges::upper_bound(buckets_.buckets(), at, {}, first);
  const RecordBuckets::Bucket& bucket = *std::prev(next);
  if (is_batched) return drawn(bucket, (at - bucket.first_batch) * size + position % size);
  return drawn(bucket, bucket.size / size * size + (at - bucket.first_rest));
}

}  // namespace ffkit
