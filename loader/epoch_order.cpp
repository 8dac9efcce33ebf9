#include "epoch_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "sampling/order_text.h"

namespace ffkit {
namespace {

bool is_all_local(const Dataset& dataset) {
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    if (!dataset.shard(i).is_local()) return false;
  }
  return true;
}

// The records of a subset among the shards.
std::vector<RecordPlaces::Run> runs_of_subset(const Dataset& dataset,
                                              const std::vector<int64_t>& order) {
  std::vector<RecordPlaces::Run> runs;
  int64_t shard = -1;
  int64_t shard_end = 0;  // of the records of all shards so far
  double mean_bytes = 0;
  int64_t first = 0;
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    const int64_t record =
        dataset.index_in_split(order.empty() ? i : order[static_cast<size_t>(i)]);
    if (record >= shard_end) {
      ShardSummary facts;
      while (record >= shard_end) {
        facts = dataset.shard(++shard).summary();
        shard_end += facts.num_records;
      }
      mean_bytes = static_cast<double>(facts.record_bytes) / static_cast<double>(facts.num_records);
      first = record;
      runs.emplace_back();
    }
    ++runs.back().num_records;
    runs.back().num_bytes =
        static_cast<int64_t>(mean_bytes * static_cast<double>(record - first + 1));
  }
  return runs;
}

}  // namespace

std::shared_ptr<const RecordPlaces> places_of(const Dataset& dataset) {
  auto places = std::make_shared<RecordPlaces>();
  if (!dataset.is_subset()) {
    places->runs.reserve(static_cast<size_t>(dataset.num_shards()));
    for (int64_t i = 0; i < dataset.num_shards(); ++i) {
      const ShardSummary facts = dataset.shard(i).summary();
      if (facts.num_records > 0) places->runs.push_back({facts.num_records, facts.record_bytes});
    }
    return places;
  }
  bool is_sorted = true;
  for (int64_t i = 1; i < dataset.num_records() && is_sorted; ++i) {
    is_sorted = dataset.index_in_split(i - 1) <= dataset.index_in_split(i);
  }
  if (!is_sorted) {
    places->records.resize(static_cast<size_t>(dataset.num_records()));
    std::iota(places->records.begin(), places->records.end(), int64_t{0});
    std::ranges::stable_sort(places->records, {},
                             [&](int64_t record) { return dataset.index_in_split(record); });
  }
  places->runs = runs_of_subset(dataset, places->records);
  return places;
}

SamplerOptions with_order_for(const Dataset& dataset, SamplerOptions options) {
  if (options.order == Order::automatic) {
    const bool is_shuffle = options.groups != nullptr || options.buckets != nullptr ||
                            options.weights != nullptr || options.mixture.has_value();
    options.order = is_shuffle || is_all_local(dataset) ? Order::shuffle : Order::windowed;
    if (options.order == Order::windowed) {
      if (options.window_block_bytes == 0) options.window_block_bytes = kStoreBlockBytes;
      if (options.num_streams == 0) options.num_streams = options.world_size;
    }
  }
  if (options.order == Order::windowed && options.window_block_bytes > 0 &&
      options.places == nullptr) {
    options.places = places_of(dataset);
  }
  return options;
}

std::optional<SamplerOptions> with_order_of_state(const Dataset& dataset, SamplerOptions options,
                                                  const std::string& order) {
  if (options.order != Order::automatic) return std::nullopt;
  const int64_t num_streams = options.num_streams;
  const int64_t block_bytes = options.window_block_bytes;
  std::optional<SamplerOptions> found = shuffle_of_text(order, std::move(options));
  if (!found || (num_streams > 0 && found->num_streams != num_streams) ||
      (block_bytes > 0 && found->window_block_bytes != block_bytes)) {
    return std::nullopt;
  }
  return with_order_for(dataset, std::move(*found));
}

}  // namespace ffkit
