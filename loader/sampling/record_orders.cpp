#include "sampling/record_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/image/random.h>

#include "base/mix64.h"

namespace ffkit {

WindowedOrder::WindowedOrder(int64_t num_records, int64_t window_block, int64_t window_blocks,
                             uint64_t key)
    : key_(key),
      block_records_(std::min(window_block, num_records)),
      num_blocks_((num_records - 1) / block_records_ + 1),
      window_blocks_(std::min(window_blocks, num_blocks_)),
      missing_(num_blocks_ * block_records_ - num_records),
      short_place_(CounterRandom({.seed = key}).below(num_blocks_)),
      blocks_(std::max<int64_t>(num_blocks_ - 1, 1), mix64(key, 0)),
      records_(1, 0) {}

int64_t WindowedOrder::records_before(int64_t num_blocks) const {
  const int64_t blocks = std::min(num_blocks, num_blocks_);
  return blocks * block_records_ - (blocks > short_place_ ? missing_ : 0);
}

int64_t WindowedOrder::operator()(int64_t position) {
  if (position < window_begin_ || position >= window_begin_ + window_size_) {
    // The window with the short block lets the later ones begin earlier.
    const int64_t window_records = window_blocks_ * block_records_;
    const int64_t short_window = short_place_ / window_blocks_;
    const bool is_later = position >= records_before((short_window + 1) * window_blocks_);
    const int64_t window = (is_later ? position + missing_ : position) / window_records;
    window_begin_ = records_before(window * window_blocks_);
    window_size_ = records_before((window + 1) * window_blocks_) - window_begin_;
    records_ = Permutation(window_size_, mix64(key_, static_cast<uint64_t>(window) + 1));
  }
  int64_t shuffled = window_begin_ + records_(position - window_begin_);
  // Filled up behind the short block, the sequence is one of blocks of the same size.
  const bool in_short_block =
      shuffled >= short_place_ * block_records_ && shuffled < records_before(short_place_ + 1);
  if (in_short_block) {
    return (num_blocks_ - 1) * block_records_ + shuffled - short_place_ * block_records_;
  }
  if (shuffled >= short_place_ * block_records_) shuffled += missing_;
  const int64_t place = shuffled / block_records_;
  const int64_t block = blocks_(place > short_place_ ? place - 1 : place);
  return block * block_records_ + shuffled % block_records_;
}

GroupOrder::GroupOrder(const std::vector<int64_t>& starts, int64_t num_records, uint64_t key)
    : starts_(starts), num_records_(num_records), groups_(std::ssize(starts), key) {
  const int64_t size = num_records / std::ssize(starts);
  bool is_common = num_records % std::ssize(starts) == 0;
  for (int64_t i = 0; i < std::ssize(starts) && is_common; ++i) {
    is_common = starts[i] == i * size;
  }
  if (is_common) common_size_ = size;
  go_to(0, 0);
}

void GroupOrder::go_to(int64_t place, int64_t begin) {
  const auto group = static_cast<size_t>(groups_(place));
  place_ = place;
  begin_ = begin;
  first_ = starts_[group];
  size_ = (group + 1 < starts_.size() ? starts_[group + 1] : num_records_) - first_;
}

int64_t GroupOrder::operator()(int64_t position) {
  if (common_size_ > 0) {
    const int64_t place = position / common_size_;
    if (place != place_) go_to(place, place * common_size_);
  } else {
    if (position < begin_) go_to(0, 0);
    while (position >= begin_ + size_) go_to(place_ + 1, begin_ + size_);
  }
  return first_ + position - begin_;
}

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

namespace {

// The same on every machine: there is no product and sum here that a compiler may fuse.
std::vector<double> relative_to_mean(std::span<const double> weights) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
  };
  if (weights.empty()) refuse("there are no weights");
  if (weights.size() > uint64_t{1} << 32) {
    refuse(fmt::format("there are {} weights, at most 2^32 can be drawn from", weights.size()));
  }
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      refuse(fmt::format("the weight of record {} is {}, must be finite and not negative", i,
                         weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0) refuse("all weights are 0");
  // Relative to the largest first: neither sum nor quotients leave the range of doubles.
  std::vector<double> shares(weights.begin(), weights.end());
  double sum = 0;
  for (double& share : shares) {
    share /= largest;
    sum += share;
  }
  for (double& share : shares) share = share / sum * static_cast<double>(shares.size());
  return shares;
}

}  // namespace

AliasTable::AliasTable(std::span<const double> weights) : columns_(weights.size()) {
  std::vector<double> shares = relative_to_mean(weights);
  // Columns that are not full from the front, the others from the back.
  std::vector<uint32_t> waiting(shares.size());
  size_t num_small = 0;
  size_t large_begin = shares.size();
  for (size_t i = 0; i < shares.size(); ++i) {
    columns_[i].alias = static_cast<uint32_t>(i);
    waiting[shares[i] < 1 ? num_small++ : --large_begin] = static_cast<uint32_t>(i);
  }
  while (num_small > 0 && large_begin < shares.size()) {
    const uint32_t small = waiting[--num_small];
    const uint32_t large = waiting[large_begin];
    constexpr double kTwoTo32 = 4294967296.0;
    const double threshold = std::min(std::round(shares[small] * kTwoTo32), kTwoTo32 - 1);
    // What can be drawn at all stays possible, however rare.
    columns_[small] = {static_cast<uint32_t>(weights[small] > 0 ? std::max(threshold, 1.0) : 0),
                       large};
    shares[large] -= 1 - shares[small];
    if (shares[large] < 1) {
      ++large_begin;
      waiting[num_small++] = large;
    }
  }
  // What is left over is full but for rounding, unless it must not be drawn at all.
  const auto heaviest = std::max_element(weights.begin(), weights.end()) - weights.begin();
  for (size_t i = 0; i < num_small; ++i) {
    if (weights[waiting[i]] == 0) columns_[waiting[i]].alias = static_cast<uint32_t>(heaviest);
  }
}

}  // namespace ffkit
