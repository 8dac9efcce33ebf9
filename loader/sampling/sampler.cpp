#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/image/random.h>
#include <ffkit/loader/permutation.h>
#include <ffkit/loader/sampler.h>

#include "base/make_error.h"
#include "base/mix64.h"
#include "sampling/order_choice.h"
#include "sampling/record_orders.h"

namespace ffkit {
namespace {

// The last of the streams that belong to the loader; transforms draw from the first ones.
constexpr uint8_t kWeightedStream = 127;

// Sums and products of few of them fit into 64 bits.
constexpr int64_t kMaxSamples = int64_t{1} << 60;

constexpr int64_t kMostStreams = int64_t{1} << 20;

void check_at_least_1(const char* name, int64_t value) {
  if (value < 1) refuse_argument(fmt::format("{} is {}; expected at least 1", name, value));
}

void check_groups(const std::vector<int64_t>& groups, int64_t num_records, Order order) {
  if (order != Order::shuffle && order != Order::sequential) {
    refuse_argument(
        "groups work only with the order 'shuffle' or 'sequential'; give one of these orders, or "
        "leave out the groups");
  }
  if (groups.empty() || groups.front() != 0)
    refuse_argument("the first group must begin at record 0");
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool ascends = i == 0 || groups[i] > groups[i - 1];
    if (ascends && groups[i] < num_records) continue;
    refuse_argument(
        fmt::format("group {} begins at record {}; every group must begin after the group before "
                    "it, and before record {}",
                    i, groups[i], num_records));
  }
}

void check_buckets(int64_t num_records, const SamplerOptions& options) {
  if (options.order != Order::shuffle || options.groups != nullptr || options.mixture) {
    refuse_argument(
        "buckets work only with the order 'shuffle', and not with groups or a mixture; give this "
        "order, or leave out the buckets");
  }
  if (std::ssize(*options.buckets) == num_records) return;
  refuse_argument(fmt::format("buckets are given for {} records, but the data has {} records",
                              options.buckets->size(), num_records));
}

// The length of an epoch.
int64_t check_mixture_of(int64_t num_records, const SamplerOptions& options) {
  if (options.order != Order::shuffle || options.groups != nullptr) {
    refuse_argument(
        "a mixture works only with the order 'shuffle', and not with groups; give this order, or "
        "leave out the mixture");
  }
  const std::vector<int64_t> counts = mixture_counts(*options.mixture, options.epoch_size);
  const std::vector<int64_t>& sizes = options.mixture->num_records;
  if (const auto sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
      sum != num_records) {
    refuse_argument(
        fmt::format("the mixture's data sets have {} records together, but the data has {} records",
                    sum, num_records));
  }
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

void check_windows(int64_t num_records, const SamplerOptions& options) {
  check_at_least_1("window_block", options.windows.window_block);
  check_at_least_1("window_blocks", options.windows.window_blocks);
  const auto check_range = [](const char* name, int64_t value, int64_t most) {
    if (value >= 0 && value <= most) return;
    refuse_argument(fmt::format("{} is {}; expected 0 to {}", name, value, most));
  };
  check_range("window_block_bytes", options.windows.window_block_bytes, kMaxSamples);
  check_range("num_streams", options.windows.num_streams, kMostStreams);
  if (options.order != Order::windowed) {
    if (options.windows.num_streams > 1 || options.windows.window_block_bytes > 0) {
      refuse_argument(
          fmt::format("{} works only with the order 'windowed', which is the default for a data "
                      "set in a store; give this order",
                      options.windows.num_streams > 1 ? "num_streams" : "window_block_bytes"));
    }
    return;
  }
  if (options.windows.window_block_bytes == 0) return;
  if (options.windows.places == nullptr) {
    refuse_argument(
        "window_block_bytes needs `places`; give `places`, or use a Loader, which finds the places "
        "by itself");
  }
  int64_t sum = 0;
  for (const RecordPlaces::Run& run : options.windows.places->runs) {
    if (run.num_records < 1 || run.num_bytes < 0 || run.num_bytes > kMaxSamples ||
        run.num_records > num_records - sum) {
      refuse_argument(fmt::format(
          "`places` contains a run of {} records and {} bytes, but the data has {} records",
          run.num_records, run.num_bytes, num_records));
    }
    sum += run.num_records;
  }
  const std::vector<int64_t>& records = options.windows.places->records;
  if (sum != num_records || (!records.empty() && std::ssize(records) != num_records)) {
    refuse_argument(fmt::format("`places` describes {} records, but the data has {} records",
                                records.empty() ? sum : std::ssize(records), num_records));
  }
}

SamplerOptions with_open_order(SamplerOptions options) {
  if (options.order == Order::automatic) options.order = Order::shuffle;
  return options;
}

// The length of an epoch.
int64_t check_sampler(int64_t num_records, int64_t batch_size, const SamplerOptions& options) {
  if (num_records < 1) {
    refuse_argument(fmt::format(
        "a sampler needs at least one record, but the given number of records is {}", num_records));
  }
  check_at_least_1("batch_size", batch_size);
  check_at_least_1("world_size", options.world_size);
  if (num_records > kMaxSamples || options.epoch_size > kMaxSamples ||
      batch_size > kMaxSamples / options.world_size) {
    refuse_argument(
        fmt::format("the numbers are too large: {} records, an epoch_size of {} samples, and a "
                    "batch_size of {} samples on {} ranks; the data set, an epoch, and the batches "
                    "of all ranks together may each have at most 2^60 samples",
                    num_records, options.epoch_size, batch_size, options.world_size));
  }
  if (options.tail < Tail::drop || options.tail > Tail::balanced) {
    refuse_argument(fmt::format("the number {} is not a Tail; give a value of the enum Tail",
                                static_cast<int>(options.tail)));
  }
  check_windows(num_records, options);
  if (options.rank < 0 || options.rank >= options.world_size) {
    refuse_argument(fmt::format("rank is {}; expected 0 to world_size - 1, which is {}",
                                options.rank, options.world_size - 1));
  }
  const bool weighted = options.order == Order::weighted;
  if (weighted != (options.weights != nullptr)) {
    refuse_argument(weighted ? "the order 'weighted' needs weights; give a weight for each record"
                             : "weights work only with the order 'weighted'; give this order, or "
                               "leave out the weights");
  }
  if (weighted && std::ssize(*options.weights) != num_records) {
    refuse_argument(
        fmt::format("there are {} weights for {} records; give one weight for each record",
                    options.weights->size(), num_records));
  }
  if (options.groups != nullptr) check_groups(*options.groups, num_records, options.order);
  if (options.share_randomness && options.groups == nullptr) {
    refuse_argument(
        "share_randomness works only with groups; give groups, or leave out share_randomness");
  }
  if (options.buckets != nullptr) check_buckets(num_records, options);
  if (options.mixture) return check_mixture_of(num_records, options);
  if (options.epoch_size < 0 || (options.epoch_size > num_records && !weighted)) {
    refuse_argument(
        fmt::format("epoch_size is {}; expected 0 to {}, the number of records (only the order "
                    "'weighted' and a mixture allow more)",
                    options.epoch_size, num_records));
  }
  return options.epoch_size == 0 ? num_records : options.epoch_size;
}

// Candidate number `attempt` of the neighbours of a record that has `before` and `after` of them:
// its distance, first to those before. 0: there are no more.
int64_t nearest(int64_t before, int64_t after, int64_t attempt) {
  const int64_t both = std::min(before, after);
  if (attempt < 2 * both) return attempt % 2 == 0 ? -(attempt / 2 + 1) : attempt / 2 + 1;
  const int64_t distance = attempt - both + 1;
  if (distance > std::max(before, after)) return 0;
  return before > after ? -distance : distance;
}

}  // namespace

std::vector<double> class_balanced_weights(std::span<const int64_t> labels) {
  return errors_only({}, [&] {
    std::unordered_map<int64_t, int64_t> counts;
    for (int64_t label : labels) ++counts[label];
    std::vector<double> weights;
    weights.reserve(labels.size());
    for (int64_t label : labels) weights.push_back(1 / static_cast<double>(counts[label]));
    return weights;
  });
}

std::vector<int64_t> aspect_ratio_buckets(std::span<const int64_t> widths,
                                          std::span<const int64_t> heights, int factor) {
  if (widths.size() != heights.size()) {
    refuse_argument(fmt::format(
        "there are {} widths and {} heights; give one width and one height for each picture",
        widths.size(), heights.size()));
  }
  constexpr int kMaxFactor = 64;
  if (factor < 0 || factor > kMaxFactor) {
    refuse_argument(fmt::format("factor is {}; expected 0 to {}", factor, kMaxFactor));
  }
  return errors_only({}, [&] {
    std::vector<double> bounds = {1};
    if (factor > 0) bounds.clear();
    for (int i = 0; factor > 0 && i <= 2 * factor; ++i) {
      bounds.push_back(std::exp2(static_cast<double>(i) / factor - 1));
    }
    std::vector<int64_t> buckets;
    buckets.reserve(widths.size());
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] < 1 || heights[i] < 1) {
        refuse_argument(fmt::format("picture {} has {} x {} pixels, so it has no aspect ratio", i,
                                    widths[i], heights[i]));
      }
      const double ratio = static_cast<double>(widths[i]) / static_cast<double>(heights[i]);
      buckets.push_back(std::ranges::upper_bound(bounds, ratio) - bounds.begin());
    }
    return buckets;
  });
}

int64_t random_record(const SamplerOptions& options, int64_t record_index) {
  if (!options.share_randomness || options.groups == nullptr) return record_index;
  const std::vector<int64_t>& groups = *options.groups;
  return *std::prev(std::upper_bound(groups.begin(), groups.end(), record_index));
}

Sampler::Sampler(int64_t num_records, int64_t batch_size, SamplerOptions options)
    : options_(with_open_order(std::move(options))),
      num_records_(num_records),
      epoch_size_(check_sampler(num_records, batch_size, options_)),
      batch_size_(batch_size),
      description_(text_of_order(options_, batch_size, epoch_size_)) {
  if (options_.order == Order::weighted) {
    table_ = errors_only({}, [&] { return std::make_shared<AliasTable>(*options_.weights); });
    options_.weights = nullptr;
  }
  if (options_.buckets != nullptr) {
    buckets_ = errors_only(
        {}, [&] { return std::make_shared<RecordBuckets>(*options_.buckets, batch_size_); });
    options_.buckets = nullptr;
  }
  if (options_.order == Order::windowed &&
      (options_.windows.window_block_bytes > 0 || options_.windows.num_streams > 1)) {
    streams_ =
        errors_only({}, [&] { return std::make_shared<BlockStreams>(num_records, options_); });
  }
  if (options_.mixture) {
    sets_ = std::make_shared<MixedSets>(*options_.mixture,
                                        mixture_counts(*options_.mixture, epoch_size_));
  }
}

int64_t Sampler::num_batches(int64_t start) const {
  const int64_t step_size = batch_size_ * options_.world_size;
  const int64_t left = std::max<int64_t>(epoch_size_ - start, 0);
  return options_.tail == Tail::drop ? left / step_size : (left + step_size - 1) / step_size;
}

int64_t Sampler::num_moved(int64_t start) const {
  const int64_t num_steps = num_batches(start);
  if (options_.tail != Tail::balanced || num_steps < 2 || batch_size_ < 2) return 0;
  const int64_t rest = epoch_size_ - start - (num_steps - 1) * batch_size_ * options_.world_size;
  return std::max<int64_t>(options_.world_size - rest, 0);
}

Sampler::Share Sampler::share_of(int64_t rank, int64_t start, int64_t step) const {
  const int64_t ranks = options_.world_size;
  const int64_t first_of_step = start + step * ranks * batch_size_;
  Share whole{first_of_step + rank * batch_size_, batch_size_};
  if (options_.tail == Tail::drop || options_.tail == Tail::pad) return whole;
  if (options_.tail == Tail::exact) {
    whole.count = std::clamp<int64_t>(epoch_size_ - whole.first, 0, batch_size_);
    return whole;
  }
  const int64_t num_steps = num_batches(start);
  if (step >= num_steps) return {epoch_size_, 0};
  const int64_t moved = num_moved(start);
  if (step == num_steps - 2 && moved > 0) {
    // The last `moved` ranks have one sample less.
    const int64_t num_before = std::max<int64_t>(rank - (ranks - moved), 0);
    return {whole.first - num_before, batch_size_ - (rank >= ranks - moved ? 1 : 0)};
  }
  if (step < num_steps - 1) return whole;
  const int64_t first = first_of_step - moved;
  const int64_t rest = epoch_size_ - first;
  if (options_.tail == Tail::even) {
    const int64_t count = (rest + ranks - 1) / ranks;
    return {first + rank * count, count};
  }
  return {first + rank * (rest / ranks) + std::min(rank, rest % ranks),
          rest / ranks + (rank < rest % ranks ? 1 : 0)};
}

int64_t Sampler::num_samples(int64_t start, int64_t step) const {
  return share(start, step).count;
}

void Sampler::check_place(int64_t start, int64_t step) const {
  if (start >= 0 && start <= epoch_size_ && step >= 0 &&
      step <= kMaxSamples / (batch_size_ * options_.world_size)) {
    return;
  }
  refuse_argument(
      fmt::format("an epoch of {2} samples has no batch {0} from position {1}; give a batch of 0 "
                  "or more, and a position from 0 to {2}",
                  step, start, epoch_size_));
}

void Sampler::batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out) const {
  std::vector<int64_t> repetitions;
  batch(epoch, start, step, out, repetitions);
}

void Sampler::batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out,
                    std::vector<int64_t>& repetitions) const {
  check_place(start, step);
  const Share mine = share(start, step);
  out.clear();
  repetitions.clear();
  errors_only({}, [&] {
    if (streams_ != nullptr) {
      for_streamed(epoch, start, step, mine,
                   [&](StreamedOrder& order, int64_t position) { out.push_back(order(position)); });
    } else {
      add_records(epoch, mine.first, mine.count, out, repetitions);
    }
  });
}

// The samples of a step, in the order of their streams, are cut into the ranks' batches.
template <typename Visit>
void Sampler::for_streamed(int64_t epoch, int64_t start, int64_t step, const Share& mine,
                           const Visit& visit) const {
  const Share first = share_of(0, start, step);
  const Share last = share_of(options_.world_size - 1, start, step);
  int64_t end = last.first + last.count;
  if (options_.tail == Tail::exact) end = std::min(end, epoch_size_);
  StreamedOrder order(*streams_, mix64(options_.seed, static_cast<uint64_t>(epoch)));
  streams_->for_positions_by_stream(
      first.first, end - first.first, mine.first - first.first, mine.count,
      [&](int64_t position) { visit(order, streams_->within(position, epoch_size_)); });
}

void Sampler::blocks(int64_t epoch, int64_t start, int64_t step, std::vector<Block>& out) const {
  check_place(start, step);
  out.clear();
  if (streams_ == nullptr) return;
  errors_only({}, [&] {
    for_streamed(epoch, start, step, share(start, step),
                 [&](StreamedOrder& order, int64_t position) {
                   order(position);
                   const auto [first, last] = order.block();
                   if (!out.empty() && out.back().first == first) return;
                   out.push_back({first, last});
                 });
  });
}

void Sampler::add_records(int64_t epoch, int64_t first, int64_t count, std::vector<int64_t>& out,
                          std::vector<int64_t>& repetitions) const {
  const uint64_t key = mix64(options_.seed, static_cast<uint64_t>(epoch));
  const auto add = [&](auto&& record_at) {
    int64_t position = first % epoch_size_;
    for (int64_t i = 0; i < count; ++i) {
      out.push_back(record_at(position));
      if (++position == epoch_size_) position = 0;
    }
  };
  switch (options_.order) {
    case Order::sequential:
      return add(std::identity());
    case Order::automatic:  // is one of the others here
    case Order::shuffle:
      if (sets_ != nullptr) {
        return add([&, order = MixedOrder(*sets_, key)](int64_t position) {
          const MixedOrder::Sample sample = order(position);
          repetitions.push_back(sample.repetition);
          return sample.record;
        });
      }
      if (buckets_ != nullptr) return add(BucketOrder(*buckets_, key));
      if (options_.groups != nullptr) return add(GroupOrder(*options_.groups, num_records_, key));
      return add(Permutation(num_records_, key));
    case Order::windowed:
      return add(WindowedOrder(num_records_, options_.windows.window_block,
                               options_.windows.window_blocks, key));
    case Order::weighted:
      return add([&](int64_t position) {
        CounterRandom random({options_.seed, epoch, position}, kWeightedStream);
        const int64_t column = random.below(table_->size());
        return table_->draw(column, static_cast<uint32_t>(random.next() >> 32));
      });
  }
}

int64_t Sampler::replacement(int64_t epoch, int64_t bad, int attempt) const {
  if (bad < 0 || bad >= num_records_ || attempt < 0) {
    refuse_argument(
        fmt::format("there is no replacement number {} of record {}; the data has {} records",
                    attempt, bad, num_records_));
  }
  const uint64_t epoch_key = mix64(options_.seed, static_cast<uint64_t>(epoch));
  const uint64_t drawn =
      mix64(mix64(epoch_key, static_cast<uint64_t>(bad)), static_cast<uint64_t>(attempt));
  if (options_.order == Order::weighted) {
    const auto column = static_cast<int64_t>(drawn % static_cast<uint64_t>(table_->size()));
    return table_->draw(column, static_cast<uint32_t>(mix64(drawn) >> 32));
  }
  if (buckets_ != nullptr) {
    const RecordBuckets::Bucket& bucket = buckets_->of_record(bad);
    return buckets_->record(bucket,
                            static_cast<int64_t>(drawn % static_cast<uint64_t>(bucket.size)));
  }
  if (sets_ != nullptr) {
    const MixedSets::Set& set = (*sets_)[sets_->of_record(bad)];
    return set.first_record + static_cast<int64_t>(drawn % static_cast<uint64_t>(set.num_records));
  }
  // A shuffled epoch that is shorter than the data has other records the next time; a sequential
  // one never.
  const int64_t num_candidates = options_.order == Order::sequential ? epoch_size_ : num_records_;
  if (options_.groups != nullptr) {
    const int64_t record = replacement_in_groups(epoch_key, bad, attempt);
    if (record >= 0 && record < num_candidates) return record;
  }
  return static_cast<int64_t>(drawn % static_cast<uint64_t>(num_candidates));
}

// Less than 0: there is none.
int64_t Sampler::replacement_in_groups(uint64_t epoch_key, int64_t bad, int attempt) const {
  constexpr int64_t kMaxOfOwnGroup = 8;
  const std::vector<int64_t>& starts = *options_.groups;
  const auto bounds = [&](uint64_t group) {
    const int64_t end = group + 1 < starts.size() ? starts[group + 1] : num_records_;
    return std::pair(starts[group], end);
  };
  const auto own = static_cast<uint64_t>(std::upper_bound(starts.begin(), starts.end(), bad) -
                                         starts.begin() - 1);
  const auto [first, end] = bounds(own);
  const int64_t num_own = std::min(end - first - 1, kMaxOfOwnGroup);
  if (attempt < num_own) return bad + nearest(bad - first, end - 1 - bad, attempt);
  if (starts.size() == 1) return -1;
  const uint64_t drawn = mix64(mix64(epoch_key, static_cast<uint64_t>(first)),
                               static_cast<uint64_t>(attempt - num_own));
  uint64_t other = drawn % (starts.size() - 1);
  if (other >= own) ++other;
  const auto [other_first, other_end] = bounds(other);
  return std::min(other_first + (bad - first), other_end - 1);
}

int64_t Sampler::first_position(int64_t start, int64_t step) const {
  return share(start, step).first;
}

int64_t Sampler::position_after(int64_t start, int64_t num_steps) const {
  const int64_t moved = num_steps == num_batches(start) - 1 ? num_moved(start) : 0;
  return std::min(epoch_size_, start + num_steps * batch_size_ * options_.world_size - moved);
}

}  // namespace ffkit
