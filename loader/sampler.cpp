#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <ffkit/format/error.h>
#include <ffkit/loader/permutation.h>
#include <ffkit/loader/random.h>
#include <ffkit/loader/sampler.h>

#include "alias_table.h"
#include "group_order.h"
#include "mix64.h"
#include "windowed_order.h"

namespace ffkit {
namespace {

// The last of the streams that belong to the loader; transforms draw from the first ones.
constexpr uint8_t kWeightedStream = 127;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

void check_at_least_1(const char* name, int64_t value) {
  if (value < 1) refuse(fmt::format("{} is {}, must be at least 1", name, value));
}

void check_groups(const std::vector<int64_t>& groups, int64_t num_records, Order order) {
  if (order != Order::shuffle && order != Order::sequential) {
    refuse("groups need Order::shuffle or Order::sequential");
  }
  if (groups.empty() || groups.front() != 0) refuse("the first group must begin at record 0");
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool ascends = i == 0 || groups[i] > groups[i - 1];
    if (ascends && groups[i] < num_records) continue;
    refuse(
        fmt::format("group {} begins at record {}; groups must ascend and begin before record {}",
                    i, groups[i], num_records));
  }
}

// The length of an epoch.
int64_t check(int64_t num_records, int64_t batch_size, const SamplerOptions& options) {
  if (num_records < 1) {
    refuse(fmt::format("a sampler needs at least one record, got {}", num_records));
  }
  check_at_least_1("batch_size", batch_size);
  check_at_least_1("world_size", options.world_size);
  check_at_least_1("window_block", options.window_block);
  check_at_least_1("window_blocks", options.window_blocks);
  if (options.rank < 0 || options.rank >= options.world_size) {
    refuse(fmt::format("rank is {}, must be 0 .. world_size-1 = {}", options.rank,
                       options.world_size - 1));
  }
  const bool weighted = options.order == Order::weighted;
  if (weighted != (options.weights != nullptr)) {
    refuse(weighted ? "Order::weighted needs weights" : "weights need Order::weighted");
  }
  if (weighted && std::ssize(*options.weights) != num_records) {
    refuse(
        fmt::format("there are {} weights for {} records", options.weights->size(), num_records));
  }
  if (options.groups != nullptr) check_groups(*options.groups, num_records, options.order);
  if (options.share_randomness && options.groups == nullptr) {
    refuse("share_randomness needs groups");
  }
  if (options.epoch_size < 0 || (options.epoch_size > num_records && !weighted)) {
    refuse(
        fmt::format("epoch_size is {}, must be 0 .. {}, the number of records; only "
                    "Order::weighted can draw more",
                    options.epoch_size, num_records));
  }
  return options.epoch_size == 0 ? num_records : options.epoch_size;
}

}  // namespace

std::vector<double> class_balanced_weights(std::span<const int64_t> labels) {
  std::unordered_map<int64_t, int64_t> counts;
  for (int64_t label : labels) ++counts[label];
  std::vector<double> weights;
  weights.reserve(labels.size());
  for (int64_t label : labels) weights.push_back(1 / static_cast<double>(counts[label]));
  return weights;
}

int64_t random_record(const SamplerOptions& options, int64_t record_index) {
  if (!options.share_randomness || options.groups == nullptr) return record_index;
  const std::vector<int64_t>& groups = *options.groups;
  return *std::prev(std::upper_bound(groups.begin(), groups.end(), record_index));
}

Sampler::Sampler(int64_t num_records, int64_t batch_size, SamplerOptions options)
    : num_records_(num_records),
      epoch_size_(check(num_records, batch_size, options)),
      batch_size_(batch_size),
      options_(std::move(options)) {
  if (options_.order == Order::weighted) {
    table_ = std::make_shared<AliasTable>(*options_.weights);
    options_.weights = nullptr;
  }
}

int64_t Sampler::num_batches(int64_t start) const {
  const int64_t step_size = batch_size_ * options_.world_size;
  const int64_t left = std::max<int64_t>(epoch_size_ - start, 0);
  return options_.tail == Tail::drop ? left / step_size : (left + step_size - 1) / step_size;
}

template <typename Visit>
void Sampler::for_positions(int64_t first, int64_t count, const Visit& visit) const {
  int64_t position = first % epoch_size_;
  for (int64_t i = 0; i < count; ++i) {
    visit(position);
    if (++position == epoch_size_) position = 0;
  }
}

void Sampler::batch(int64_t epoch, int64_t start, int64_t step, std::vector<int64_t>& out) const {
  const int64_t first = first_position(start, step);
  int64_t count = batch_size_;
  if (options_.tail == Tail::exact) {
    count = std::clamp<int64_t>(epoch_size_ - first, 0, batch_size_);
  }
  const uint64_t key = mix64(options_.seed, static_cast<uint64_t>(epoch));
  out.clear();
  switch (options_.order) {
    case Order::sequential:
      for_positions(first, count, [&](int64_t position) { out.push_back(position); });
      break;
    case Order::shuffle: {
      if (options_.groups != nullptr) {
        GroupOrder order(*options_.groups, num_records_, key);
        for_positions(first, count, [&](int64_t position) { out.push_back(order(position)); });
        break;
      }
      const Permutation permutation(num_records_, key);
      for_positions(first, count, [&](int64_t position) { out.push_back(permutation(position)); });
      break;
    }
    case Order::windowed: {
      WindowedOrder order(num_records_, options_.window_block, options_.window_blocks, key);
      for_positions(first, count, [&](int64_t position) { out.push_back(order(position)); });
      break;
    }
    case Order::weighted:
      for_positions(first, count, [&](int64_t position) {
        CounterRandom random({options_.seed, epoch, position}, kWeightedStream);
        const int64_t column = random.below(table_->size());
        out.push_back(table_->draw(column, static_cast<uint32_t>(random.next() >> 32)));
      });
      break;
  }
}

int64_t Sampler::first_position(int64_t start, int64_t step) const {
  return start + (step * options_.world_size + options_.rank) * batch_size_;
}

int64_t Sampler::position_after(int64_t start, int64_t num_steps) const {
  return std::min(epoch_size_, start + num_steps * batch_size_ * options_.world_size);
}

}  // namespace ffkit
