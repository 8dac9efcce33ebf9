#include "sampling/record_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/image/random.h>
#include <ffkit/loader/sampler.h>

#include "base/make_error.h"
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
  if (weights.empty()) refuse_argument("there are no weights; give a weight for each record");
  if (weights.size() > uint64_t{1} << 32) {
    refuse_argument(fmt::format("there are {} weights; expected at most 2^32", weights.size()));
  }
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      refuse_argument(fmt::format(
          "the weight of record {} is {}; expected a finite number, 0 or more", i, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0)
    refuse_argument("the weights of all records are 0; give at least one record a larger weight");
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

namespace {

constexpr size_t kKeptEpochs = 2;
// Stands where keys of epochs have the epoch's number, which is never negative.
constexpr uint64_t kStreamsKey = ~uint64_t{0};

// a * b / c without overflow, for numbers of at most 2^60 each whose result is as small.
int64_t scaled(int64_t a, int64_t b, int64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) / static_cast<Wide>(c));
}

}  // namespace

BlockStreams::BlockStreams(int64_t num_records, const SamplerOptions& options)
    : num_records_(num_records),
      num_streams_(std::max<int64_t>(options.windows.num_streams, 1)),
      block_bytes_(options.windows.window_block_bytes > 0 ? options.windows.window_block_bytes
                                                          : options.windows.window_block),
      window_blocks_(options.windows.window_blocks) {
  std::vector<RecordPlaces::Run> runs = {{num_records, num_records}};
  if (options.windows.window_block_bytes > 0) {
    runs = options.windows.places->runs;
    if (!options.windows.places->records.empty()) {
      records_ = {options.windows.places, &options.windows.places->records};
    }
  }
  runs_.reserve(runs.size());
  int64_t place = 0;
  for (const RecordPlaces::Run& run : runs) {
    const int64_t num_blocks = run.num_bytes / block_bytes_ +
                               (run.num_bytes % block_bytes_ >= (block_bytes_ + 1) / 2 ? 1 : 0);
    runs_.push_back({.position = 0,
                     .first_place = place,
                     .num_records = run.num_records,
                     .num_bytes = run.num_bytes,
                     .num_blocks = std::clamp<int64_t>(num_blocks, 1, run.num_records)});
    place += run.num_records;
  }
  if (num_streams_ > 1) permute_runs(options.seed);
  for (int64_t position = 0; Run & run : runs_) {
    run.position = position;
    position += run.num_records;
  }
}

// By the seed alone: the streams of all epochs have the same runs.
void BlockStreams::permute_runs(uint64_t seed) {
  const Permutation permuted(std::ssize(runs_), mix64(mix64(seed, kStreamsKey), 0));
  std::vector<Run> runs;
  runs.reserve(runs_.size());
  for (int64_t i = 0; i < std::ssize(runs_); ++i) {
    runs.push_back(runs_[static_cast<size_t>(permuted(i))]);
  }
  runs_ = std::move(runs);
}

// Where a multiple of the block's bytes lies, if all records of the run are of its mean size. The
// last block has up to one and a half times as many bytes.
int64_t BlockStreams::block_begin(const Run& run, int64_t block) const {
  if (block == run.num_blocks) return run.num_records;
  if (run.num_blocks == run.num_records) return block;
  return scaled(block * block_bytes_, run.num_records, run.num_bytes);
}

int64_t BlockStreams::block_of(const Run& run, int64_t record) const {
  int64_t first = 0;
  int64_t end = run.num_blocks;
  while (end - first > 1) {
    const int64_t middle = first + (end - first) / 2;
    (block_begin(run, middle) <= record ? first : end) = middle;
  }
  return first;
}

std::shared_ptr<const RecordStream> BlockStreams::make_stream(uint64_t key, int64_t number) const {
  auto stream = std::make_shared<RecordStream>();
  const int64_t size = num_records_ / num_streams_;
  const int64_t num_longer = num_records_ % num_streams_;
  const int64_t begin = number * size + std::min(number, num_longer);
  stream->num_records = size + (number < num_longer ? 1 : 0);
  stream->key = mix64(mix64(key, 2), static_cast<uint64_t>(number));
  if (stream->num_records == 0) return stream;
  const int64_t end = begin + stream->num_records;

  struct Found {
    int64_t first_record;
    int64_t num_records;
  };
  std::vector<Found> found;
  auto run = std::prev(std::ranges::upper_bound(runs_, begin, {}, &Run::position));
  for (; run != runs_.end() && run->position < end; ++run) {
    int64_t record = std::max<int64_t>(begin - run->position, 0);
    const int64_t last = std::min(run->num_records, end - run->position);
    for (int64_t block = block_of(*run, record); record < last; ++block) {
      const int64_t block_end = std::min(last, block_begin(*run, block + 1));
      found.push_back({run->first_place + record, block_end - record});
      record = block_end;
    }
  }

  const auto num_blocks = std::ssize(found);
  const Permutation permuted(num_blocks, mix64(stream->key, 0));
  stream->blocks.reserve(found.size());
  int64_t position = 0;
  for (int64_t i = 0; i < num_blocks; ++i) {
    const Found& block = found[static_cast<size_t>(permuted(i))];
    stream->blocks.push_back({position, block.first_record});
    position += block.num_records;
  }
  // Windows of as many blocks, but for one.
  const int64_t num_windows = (num_blocks - 1) / window_blocks_ + 1;
  stream->windows.reserve(static_cast<size_t>(num_windows) + 1);
  for (int64_t i = 0; i <= num_windows; ++i) {
    stream->windows.push_back(static_cast<size_t>(scaled(i, num_blocks, num_windows)));
  }
  return stream;
}

std::shared_ptr<const RecordStream> BlockStreams::stream(uint64_t key, int64_t stream) const {
  const std::scoped_lock lock(mutex_);
  auto epoch = std::ranges::find(epochs_, key, &Epoch::key);
  if (epoch == epochs_.end()) {
    epochs_.push_front({.key = key, .streams = {}});
    if (epochs_.size() > kKeptEpochs) epochs_.pop_back();
    epoch = epochs_.begin();
  }
  std::shared_ptr<const RecordStream>& found = epoch->streams[stream];
  if (found == nullptr) found = make_stream(key, stream);
  return found;
}

void StreamedOrder::go_to_window(int64_t place) {
  const std::vector<RecordStream::Block>& blocks = stream_->blocks;
  const std::vector<size_t>& windows = stream_->windows;
  const auto begins_at = [&](size_t block) {
    return block == blocks.size() ? stream_->num_records : blocks[block].position;
  };
  const auto next = std::ranges::upper_bound(windows, place, {}, begins_at);
  first_block_ = *std::prev(next);
  end_block_ = *next;
  window_begin_ = begins_at(first_block_);
  window_size_ = begins_at(end_block_) - window_begin_;
  const auto window = static_cast<uint64_t>(next - windows.begin());  // from 1
  records_ = Permutation(window_size_, mix64(stream_->key, window));
}

std::pair<int64_t, int64_t> StreamedOrder::block() const {
  const std::vector<RecordStream::Block>& blocks = stream_->blocks;
  const RecordStream::Block& block = blocks[last_block_];
  const int64_t end =
      last_block_ + 1 < blocks.size() ? blocks[last_block_ + 1].position : stream_->num_records;
  return {streams_.record_at(block.first_record),
          streams_.record_at(block.first_record + end - block.position - 1)};
}

int64_t StreamedOrder::operator()(int64_t position) {
  const int64_t number = position % streams_.num_streams();
  const int64_t place = position / streams_.num_streams();
  if (number != number_) {
    number_ = number;
    stream_ = streams_.stream(key_, number);
    window_size_ = 0;
  }
  if (place < window_begin_ || place >= window_begin_ + window_size_) go_to_window(place);
  const int64_t shuffled = window_begin_ + records_(place - window_begin_);
  const auto blocks = std::span(stream_->blocks).subspan(first_block_, end_block_ - first_block_);
  const auto next = std::ranges::upper_bound(blocks, shuffled, {}, &RecordStream::Block::position);
  last_block_ = first_block_ + static_cast<size_t>(next - blocks.begin()) - 1;
  const RecordStream::Block& block = stream_->blocks[last_block_];
  return streams_.record_at(block.first_record + shuffled - block.position);
}

namespace {

constexpr size_t kMaxSets = 1024;
constexpr int64_t kMaxMixedSamples = int64_t{1} << 60;  // as the sampler's

void check_mixture(const Mixture& mixture) {
  if (mixture.num_records.empty() || mixture.num_records.size() > kMaxSets) {
    refuse_argument(fmt::format("a mixture has {} data sets; expected 1 to {}",
                                mixture.num_records.size(), kMaxSets));
  }
  for (size_t i = 0; i < mixture.num_records.size(); ++i) {
    const int64_t count = mixture.num_records[i];
    if (count >= 1 && count <= kMaxMixedSamples / static_cast<int64_t>(kMaxSets)) continue;
    refuse_argument(
        fmt::format("data set {} of the mixture has {} records; expected 1 to 2^50", i, count));
  }
  if (mixture.weights.empty()) return;
  if (mixture.weights.size() != mixture.num_records.size()) {
    refuse_argument(fmt::format(
        "the mixture has {} weights for {} data sets; give one weight for each data set",
        mixture.weights.size(), mixture.num_records.size()));
  }
  for (size_t i = 0; i < mixture.weights.size(); ++i) {
    if (std::isfinite(mixture.weights[i]) && mixture.weights[i] > 0) continue;
    refuse_argument(fmt::format("the weight of data set {} is {}; expected a finite number above 0",
                                i, mixture.weights[i]));
  }
}

// Whole numbers in proportion to the weights, the same on every machine: a quotient and a product
// with a power of two, which no compiler fuses.
std::vector<uint64_t> whole_weights(const Mixture& mixture) {
  constexpr double kScale = 1099511627776.0;  // 2^40
  std::vector<uint64_t> out(mixture.num_records.size(), 1);
  if (mixture.weights.empty()) return out;
  const double largest = *std::ranges::max_element(mixture.weights);
  for (size_t i = 0; i < out.size(); ++i) {
    const double share = mixture.weights[i] / largest;
    out[i] = static_cast<uint64_t>(std::llround(share * kScale));
  }
  return out;
}

}  // namespace

std::vector<int64_t> mixture_counts(const Mixture& mixture, int64_t epoch_size) {
  __extension__ using Wide = unsigned __int128;
  check_mixture(mixture);
  const std::vector<int64_t>& records = mixture.num_records;
  if (epoch_size < 0 || epoch_size > kMaxMixedSamples) {
    refuse_argument(fmt::format("epoch_size is {}; expected 0 to 2^60", epoch_size));
  }
  if (epoch_size == 0 && mixture.weights.empty()) {
    epoch_size = std::ssize(records) * *std::ranges::max_element(records);
  } else if (epoch_size == 0) {
    epoch_size = std::accumulate(records.begin(), records.end(), int64_t{0});
  }
  const std::vector<uint64_t> weights = whole_weights(mixture);
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<int64_t> counts;
  std::vector<uint64_t> remainders;
  for (const uint64_t weight : weights) {
    const Wide scaled = static_cast<Wide>(epoch_size) * weight;
    counts.push_back(static_cast<int64_t>(scaled / total));
    remainders.push_back(static_cast<uint64_t>(scaled % total));
  }
  std::vector<size_t> by_remainder(counts.size());
  std::iota(by_remainder.begin(), by_remainder.end(), size_t{0});
  std::ranges::sort(by_remainder, [&](size_t a, size_t b) {
    return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
  });
  const int64_t left = epoch_size - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (int64_t i = 0; i < left; ++i) ++counts[by_remainder[i]];
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) continue;
    refuse_argument(
        fmt::format("an epoch of {} samples has no sample of data set {}; give this data set a "
                    "larger weight, or give a larger epoch_size",
                    epoch_size, i));
  }
  return counts;
}

MixedSets::MixedSets(const Mixture& mixture, const std::vector<int64_t>& counts) {
  int64_t first_record = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    sets_.push_back({first_record, mixture.num_records[i], epoch_size_});
    first_record += mixture.num_records[i];
    epoch_size_ += counts[i];
  }
}

int64_t MixedSets::of_sample(int64_t sample) const {
  return std::ranges::upper_bound(sets_, sample, {}, &Set::first_sample) - sets_.begin() - 1;
}

int64_t MixedSets::of_record(int64_t record) const {
  return std::ranges::upper_bound(sets_, record, {}, &Set::first_record) - sets_.begin() - 1;
}

MixedOrder::MixedOrder(const MixedSets& sets, uint64_t key)
    : sets_(sets), key_(key), samples_(sets.epoch_size(), mix64(key, 0)) {}

MixedOrder::Sample MixedOrder::operator()(int64_t position) const {
  const int64_t sample = samples_(position);
  const int64_t number = sets_.of_sample(sample);
  const MixedSets::Set& set = sets_[number];
  const int64_t repetition = (sample - set.first_sample) / set.num_records;
  const uint64_t key =
      mix64(mix64(key_, static_cast<uint64_t>(number) + 1), static_cast<uint64_t>(repetition));
  const Permutation records(set.num_records, key);
  return {.record = set.first_record + records((sample - set.first_sample) % set.num_records),
          .repetition = repetition};
}

}  // namespace ffkit
