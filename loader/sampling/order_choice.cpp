#include "sampling/order_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/make_error.h"
#include "base/mix64.h"
#include "base/number_text.h"

namespace ffkit {
namespace {

template <typename T>
std::string hash_of(const std::vector<T>& values) {
  uint64_t hash = values.size();
  for (const T value : values) hash = mix64(hash, std::bit_cast<uint64_t>(value));
  return fmt::format("{:016x}", hash);
}

std::string describe_mixture(const Mixture& mixture, int64_t epoch_size) {
  const std::vector<int64_t> counts = mixture_counts(mixture, epoch_size);
  std::string text = "mixture of ";
  for (size_t i = 0; i < counts.size(); ++i) {
    text += fmt::format("{}{}/{}", i == 0 ? "" : " + ", counts[i], mixture.num_records[i]);
  }
  return text;
}

}  // namespace

std::string text_of_order(const SamplerOptions& options, int64_t batch_size, int64_t epoch_size) {
  const auto text = [&]() -> std::string {
    switch (options.order) {
      case Order::sequential:
        return "sequential";
      case Order::automatic:
      case Order::shuffle:
        return options.mixture ? describe_mixture(*options.mixture, epoch_size) : "shuffle";
      case Order::windowed:
        return (options.windows.window_block_bytes > 0
                    ? fmt::format("windowed by {} bytes", options.windows.window_block_bytes)
                    : fmt::format("windowed by {}", options.windows.window_block)) +
               fmt::format(" x {}", options.windows.window_blocks) +
               (options.windows.num_streams > 1
                    ? fmt::format(" in {} streams", options.windows.num_streams)
                    : "");
      case Order::weighted:
        return "weighted by " + hash_of(*options.weights);
    }
    throw error_of(ErrorCode::invalid_argument,
                   "the number {} is not an Order; give a value of the enum Order",
                   static_cast<int>(options.order));
  };
  const std::string groups =
      options.groups == nullptr ? "" : " of the groups " + hash_of(*options.groups);
  const std::string buckets = options.buckets == nullptr
                                  ? ""
                                  : fmt::format(" in batches of {} of the buckets {}", batch_size,
                                                hash_of(*options.buckets));
  return fmt::format("{}{}{}, {} samples", text(), groups, buckets, epoch_size);
}

std::optional<SamplerOptions> shuffle_of_text(std::string_view text, SamplerOptions options) {
  options.windows.num_streams = 1;
  options.windows.window_block_bytes = 0;
  if (text.starts_with("shuffle, ")) {
    options.order = Order::shuffle;
    return options;
  }
  options.order = Order::windowed;
  int64_t block = 0;
  if (!take_text(text, "windowed by ") || !take_number(text, block)) return std::nullopt;
  const bool is_bytes = take_text(text, " bytes");
  (is_bytes ? options.windows.window_block_bytes : options.windows.window_block) = block;
  if (!take_text(text, " x ") || !take_number(text, options.windows.window_blocks))
    return std::nullopt;
  if (take_text(text, " in ") &&
      (!take_number(text, options.windows.num_streams) || !take_text(text, " streams"))) {
    return std::nullopt;
  }
  return text.starts_with(", ") ? std::optional(std::move(options)) : std::nullopt;
}

namespace {

// What this rank reads of the windows that are read at a time; 0 in other orders.
int64_t window_bytes_on_rank(const SamplerOptions& options, int64_t record_bytes) {
  if (options.order != Order::windowed) return 0;
  // As double, because what was asked for may be more than 64 bits hold.
  const double block_bytes =
      options.windows.window_block_bytes > 0
          ? static_cast<double>(options.windows.window_block_bytes)
          : static_cast<double>(options.windows.window_block) * static_cast<double>(record_bytes);
  const double share = static_cast<double>(std::max<int64_t>(options.windows.num_streams, 1)) /
                       static_cast<double>(options.world_size);
  const double bytes = block_bytes * static_cast<double>(options.windows.window_blocks) * share;
  return static_cast<int64_t>(std::min(bytes, 1e15));
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
    options.order = is_shuffle || has_local_shards(dataset) ? Order::shuffle : Order::windowed;
    if (options.order == Order::windowed) {
      if (options.windows.window_block_bytes == 0)
        options.windows.window_block_bytes = kStoreBlockBytes;
      if (options.windows.num_streams == 0) options.windows.num_streams = options.world_size;
    }
  }
  if (options.order == Order::windowed && options.windows.window_block_bytes > 0 &&
      options.windows.places == nullptr) {
    options.windows.places = places_of(dataset);
  }
  return options;
}

std::optional<SamplerOptions> with_order_of_state(const Dataset& dataset, SamplerOptions options,
                                                  const std::string& order) {
  if (options.order != Order::automatic) return std::nullopt;
  const int64_t num_streams = options.windows.num_streams;
  const int64_t block_bytes = options.windows.window_block_bytes;
  std::optional<SamplerOptions> found = shuffle_of_text(order, std::move(options));
  if (!found || (num_streams > 0 && found->windows.num_streams != num_streams) ||
      (block_bytes > 0 && found->windows.window_block_bytes != block_bytes)) {
    return std::nullopt;
  }
  return with_order_for(dataset, std::move(*found));
}

FetchAhead::Reading reading_of(const Dataset& dataset, const Sampler& sampler,
                               int64_t num_batches) {
  const SamplerOptions& options = sampler.options();
  return {.is_by_blocks = options.order == Order::windowed || options.order == Order::sequential,
          .batch_size = sampler.batch_size(),
          .num_batches = num_batches,
          .num_ranks = options.world_size,
          .window_bytes = window_bytes_on_rank(options, mean_record_bytes(dataset))};
}

FetchAhead::Epoch fetched_epoch(const Sampler& sampler, int64_t epoch, int64_t start,
                                int64_t num_batches) {
  return {.num_batches = num_batches,
          .records = [&sampler, epoch, start](
                         int64_t batch,
                         std::vector<int64_t>& out) { sampler.batch(epoch, start, batch, out); },
          .blocks =
              [&sampler, epoch, start](int64_t batch, std::vector<FetchAhead::Block>& out) {
                std::vector<Sampler::Block> blocks;
                sampler.blocks(epoch, start, batch, blocks);
                out.clear();
                for (const auto& [first, last] : blocks) out.push_back({first, last});
              }};
}

}  // namespace ffkit
