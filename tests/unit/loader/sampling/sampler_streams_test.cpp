// Order::windowed in streams and in blocks of bytes.
#include "loader_prelude.h"
#include "sampling/record_orders.h"

namespace ffkit {
namespace {

std::shared_ptr<const RecordPlaces> places(std::vector<RecordPlaces::Run> runs,
                                           std::vector<int64_t> records = {}) {
  return std::make_shared<const RecordPlaces>(RecordPlaces{std::move(runs), std::move(records)});
}

// Shards of 3 to 40 records of 100 bytes.
std::shared_ptr<const RecordPlaces> made_places(int64_t num_records) {
  std::vector<RecordPlaces::Run> runs;
  for (int64_t left = num_records; left > 0;) {
    const int64_t count = std::min<int64_t>(left, 3 + (7 * std::ssize(runs)) % 38);
    runs.push_back({count, 100 * count});
    left -= count;
  }
  return places(std::move(runs));
}

SamplerOptions streamed(int64_t num_records, int64_t num_streams, int64_t block_bytes = 1000,
                        int64_t window_blocks = 3) {
  return {.order = Order::windowed,
          .tail = Tail::exact,
          .seed = 7,
          .windows = {.window_blocks = window_blocks,
                      .window_block_bytes = block_bytes,
                      .places = made_places(num_records),
                      .num_streams = num_streams}};
}

Sampler sampler_of(int64_t num_records, int64_t batch_size, SamplerOptions options, int rank,
                   int world_size) {
  options.rank = rank;
  options.world_size = world_size;
  return {num_records, batch_size, std::move(options)};
}

// What all ranks read together in `num_steps` steps from `start`, rank by rank in each step.
std::vector<std::vector<int64_t>> steps_of(int64_t num_records, int64_t batch_size,
                                           const SamplerOptions& options, int world_size,
                                           int64_t epoch, int64_t start = 0,
                                           int64_t num_steps = INT64_MAX) {
  std::vector<Sampler> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.push_back(sampler_of(num_records, batch_size, options, rank, world_size));
  }
  std::vector<std::vector<int64_t>> steps;
  std::vector<int64_t> batch;
  for (int64_t step = 0; step < std::min(num_steps, ranks[0].num_batches(start)); ++step) {
    steps.emplace_back();
    for (const Sampler& rank : ranks) {
      rank.batch(epoch, start, step, batch);
      EXPECT_EQ(std::ssize(batch), rank.num_samples(start, step));
      steps.back().insert(steps.back().end(), batch.begin(), batch.end());
    }
  }
  return steps;
}

std::vector<int64_t> joined(const std::vector<std::vector<int64_t>>& steps) {
  std::vector<int64_t> all;
  for (const auto& step : steps) all.insert(all.end(), step.begin(), step.end());
  return all;
}

void expect_each_once(std::vector<int64_t> records, int64_t num_records) {
  ASSERT_EQ(std::ssize(records), num_records);
  std::ranges::sort(records);
  for (int64_t i = 0; i < num_records; ++i) ASSERT_EQ(records[static_cast<size_t>(i)], i);
}

TEST(SamplerStreams, EachRecordComesOnceForAnySizes) {
  for (const int64_t n : {1, 2, 3, 17, 40, 41, 160, 333}) {
    for (const int64_t num_streams : {1, 2, 3, 8, 50, 400}) {
      for (const int64_t block_bytes : {1, 99, 250, 1000, 100000}) {
        for (const int world_size : {1, 3, 8}) {
          const SamplerOptions options = streamed(n, num_streams, block_bytes);
          expect_each_once(joined(steps_of(n, 5, options, world_size, 1)), n);
          if (::testing::Test::HasFatalFailure()) {
            FAIL() << n << " records, " << num_streams << " streams, blocks of " << block_bytes;
          }
        }
      }
    }
  }
}

TEST(SamplerStreams, BlocksOfRecordsMayComeInStreamsToo) {
  for (const int64_t n : {5, 64, 65, 1000}) {
    const SamplerOptions options{
        .order = Order::windowed,
        .tail = Tail::exact,
        .windows = {.window_block = 8, .window_blocks = 3, .num_streams = 4}};
    expect_each_once(joined(steps_of(n, 3, options, 2, 0)), n);
  }
}

TEST(SamplerStreams, TheSamplesOfAStepAreThoseOfAnyNumberOfRanks) {
  constexpr int64_t kRecords = 1000;
  const SamplerOptions options = streamed(kRecords, 8);
  const auto one = steps_of(kRecords, 96, options, 1, 3);
  EXPECT_NE(joined(one), joined(steps_of(kRecords, 96, options, 1, 4)));
  for (const int world_size : {2, 3, 4, 8, 16, 96}) {
    EXPECT_EQ(steps_of(kRecords, 96 / world_size, options, world_size, 3), one) << world_size;
  }
}

TEST(SamplerStreams, GoesOnWithOtherRanksAndBatches) {
  constexpr int64_t kRecords = 700;
  const SamplerOptions options = streamed(kRecords, 8);
  for (const auto& [before, batch_before] : {std::pair{8, 5}, {4, 7}, {3, 3}}) {
    for (const auto& [after, batch_after] : {std::pair{1, 11}, {2, 20}, {16, 4}, {5, 3}}) {
      const Sampler sampler = sampler_of(kRecords, batch_before, options, 0, before);
      const int64_t position = sampler.position_after(0, 4);
      auto all = joined(steps_of(kRecords, batch_before, options, before, 2, 0, 4));
      const auto rest = joined(steps_of(kRecords, batch_after, options, after, 2, position));
      ASSERT_EQ(std::ssize(all), position);
      all.insert(all.end(), rest.begin(), rest.end());
      expect_each_once(all, kRecords);
    }
  }
}

TEST(SamplerStreams, TailsHoldAsInOtherOrders) {
  for (const int64_t n : {7, 40, 100, 101}) {
    for (const int world_size : {1, 2, 4, 6}) {
      for (const Tail tail : {Tail::drop, Tail::pad, Tail::even, Tail::balanced}) {
        SamplerOptions options = streamed(n, 4);
        options.tail = tail;
        const auto all = joined(steps_of(n, 3, options, world_size, 1));
        std::vector<int> counts(static_cast<size_t>(n));
        for (const int64_t record : all) ++counts[static_cast<size_t>(record)];
        const auto [least, most] = std::ranges::minmax(counts);
        const auto where = ::testing::Message() << n << " records, tail " << static_cast<int>(tail)
                                                << ", " << world_size << " ranks";
        const int64_t step_size = 3 * world_size;
        if (tail == Tail::drop) {
          EXPECT_EQ(std::ssize(all), n / step_size * step_size) << where;
          EXPECT_LE(most, 1) << where;
        } else if (tail == Tail::balanced) {
          EXPECT_EQ(std::ssize(all), n) << where;
          EXPECT_EQ(least, 1) << where;
        } else {
          EXPECT_EQ(least, std::ssize(all) / n) << where;
          EXPECT_LE(most, least + 1) << where;
        }
      }
    }
  }
}

TEST(SamplerStreams, AShorterEpochTakesTheBeginningOfTheStreams) {
  SamplerOptions options = streamed(300, 4);
  const auto whole = joined(steps_of(300, 4, options, 1, 1));
  options.epoch_size = 100;
  EXPECT_EQ(joined(steps_of(300, 4, options, 1, 1)),
            std::vector<int64_t>(whole.begin(), whole.begin() + 100));
}

// Shards of 32 blocks of 10 records: what the machines of a run touch.
int64_t blocks_touched(int64_t num_streams, int num_nodes, int ranks_per_node) {
  constexpr int64_t kShards = 40;
  constexpr int64_t kShardRecords = 320;
  constexpr int64_t kRecords = kShards * kShardRecords;
  const SamplerOptions options{
      .order = Order::windowed,
      .tail = Tail::exact,
      .windows = {.window_blocks = 4,
                  .window_block_bytes = 1000,
                  .places = places(std::vector<RecordPlaces::Run>(kShards, {kShardRecords, 32000})),
                  .num_streams = num_streams}};
  int64_t num_blocks = 0;
  std::vector<int64_t> batch;
  for (int node = 0; node < num_nodes; ++node) {
    std::set<int64_t> blocks;
    for (int local = 0; local < ranks_per_node; ++local) {
      const int world_size = num_nodes * ranks_per_node;
      const Sampler sampler =
          sampler_of(kRecords, 5, options, node * ranks_per_node + local, world_size);
      for (int64_t step = 0; step < kRecords / 5 / world_size; ++step) {
        sampler.batch(6, 0, step, batch);
        for (const int64_t record : batch) blocks.insert(record / 10);
      }
    }
    num_blocks += std::ssize(blocks);
  }
  return num_blocks;
}

TEST(SamplerStreams, MachinesReadDifferentBlocks) {
  constexpr int64_t kBlocks = 40 * 32;
  EXPECT_EQ(blocks_touched(1, 1, 1), kBlocks);
  EXPECT_GT(blocks_touched(1, 4, 2), 3 * kBlocks) << "one stream is dealt to all in turn";
  for (const auto& [nodes, ranks] : {std::pair{4, 1}, {4, 2}, {16, 1}, {8, 8}}) {
    for (const int64_t num_streams : {int64_t{nodes}, int64_t{nodes} * ranks}) {
      const int64_t touched = blocks_touched(num_streams, nodes, ranks);
      EXPECT_GE(touched, kBlocks);
      EXPECT_LE(touched, kBlocks + nodes) << "one at each border between two machines";
    }
  }
}

TEST(SamplerStreams, TouchesTheBlocksOfOneWindowAtATime) {
  constexpr int64_t kRecords = 2000;
  SamplerOptions options = streamed(kRecords, 1, 1000, 4);
  options.windows.places = places({{1000, 100000}, {1000, 100000}});
  const auto all = joined(steps_of(kRecords, 50, options, 1, 2));
  // 200 blocks of 10 records: 50 windows of 40 records.
  std::set<int64_t> seen;
  for (size_t begin = 0; begin < all.size(); begin += 40) {
    std::set<int64_t> window;
    for (size_t i = begin; i < begin + 40; ++i) window.insert(all[i] / 10);
    EXPECT_EQ(window.size(), 4U);
    for (const int64_t block : window) EXPECT_TRUE(seen.insert(block).second);
  }
  EXPECT_EQ(seen.size(), 200U);
}

TEST(SamplerStreams, BlocksDoNotStraddleShardsAndAreOfAboutTheirSize) {
  // A shard of 3.4 blocks has three, one of 3.6 four, one of a tenth one.
  const BlockStreams streams(
      110, {.order = Order::windowed,
            .windows = {.window_block_bytes = 1000,
                        .places = places({{34, 3400}, {36, 3600}, {1, 100}, {39, 9}})}});
  std::vector<int64_t> begins;
  for (const RecordStream::Block& block : streams.stream(5, 0)->blocks) {
    begins.push_back(block.first_record);
  }
  std::ranges::sort(begins);
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 10, 20, 34, 44, 54, 64, 70, 71}));
}

// What a machine's cache has of one epoch serves the next.
TEST(SamplerStreams, AStreamHasTheSameRecordsInEachEpochAndOthersForAnotherSeed) {
  const auto records_of_rank = [](uint64_t seed, int64_t epoch, std::vector<int64_t>& batch) {
    SamplerOptions options = streamed(400, 4);
    options.seed = seed;
    sampler_of(400, 100, options, 1, 4).batch(epoch, 0, 0, batch);
    return std::set<int64_t>(batch.begin(), batch.end());
  };
  std::vector<int64_t> first;
  std::vector<int64_t> second;
  const std::set<int64_t> records = records_of_rank(7, 0, first);
  EXPECT_EQ(records_of_rank(7, 1, second), records);
  EXPECT_NE(first, second);
  EXPECT_NE(records_of_rank(8, 0, first), records);
}

TEST(SamplerStreams, RecordsInAnotherOrderThanTheirFilesKeepTheirNeighbours) {
  constexpr int64_t kRecords = 600;
  std::vector<int64_t> by_place;  // 7 * i mod 600 is at place i
  for (int64_t i = 0; i < kRecords; ++i) by_place.push_back(7 * i % kRecords);
  SamplerOptions options = streamed(kRecords, 2);
  const auto plain = joined(steps_of(kRecords, 10, options, 2, 1));
  options.windows.places = places(options.windows.places->runs, by_place);
  const auto mapped = joined(steps_of(kRecords, 10, options, 2, 1));
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(mapped[i], 7 * plain[i] % kRecords);
}

TEST(SamplerStreams, HandlesHugeSizes) {
  constexpr int64_t kShards = 1000;
  constexpr int64_t kShardRecords = int64_t{1} << 50;
  const Sampler sampler(kShards * kShardRecords, 1,
                        {.order = Order::windowed,
                         .world_size = 7,
                         .windows = {.window_block_bytes = int64_t{1} << 49,
                                     .places = places(std::vector<RecordPlaces::Run>(
                                         kShards, {kShardRecords, int64_t{1} << 52})),
                                     .num_streams = 7}});
  std::set<int64_t> seen;
  std::vector<int64_t> batch;
  for (int64_t i = 0; i < 1000; ++i) {
    sampler.batch(1, kShards * kShardRecords / 1000 * i, 0, batch);
    ASSERT_EQ(batch.size(), 1U);
    ASSERT_GE(batch[0], 0);
    ASSERT_LT(batch[0], kShards * kShardRecords);
    seen.insert(batch[0]);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(SamplerStreams, IsTheSameInEveryRelease) {
  std::vector<int64_t> batch;
  sampler_of(1000, 6, streamed(1000, 1), 0, 1).batch(1, 0, 50, batch);
  EXPECT_EQ(batch, (std::vector<int64_t>{572, 893, 870, 859, 892, 898}));
  sampler_of(1000, 6, streamed(1000, 8), 1, 4).batch(1, 0, 20, batch);
  EXPECT_EQ(batch, (std::vector<int64_t>{795, 396, 799, 134, 723, 130}));
}

TEST(SamplerStreams, TheStateSaysBlocksAndStreams) {
  EXPECT_EQ(sampler_of(100, 5, streamed(100, 8), 0, 1).description(),
            "windowed by 1000 bytes x 3 in 8 streams, 100 samples");
  EXPECT_EQ(sampler_of(100, 5, streamed(100, 1), 0, 1).description(),
            "windowed by 1000 bytes x 3, 100 samples");
  EXPECT_EQ(
      Sampler(100, 5, {.order = Order::windowed, .windows = {.num_streams = 2}}).description(),
      "windowed by 64 x 64 in 2 streams, 100 samples");
}

TEST(SamplerStreams, RefusesWhatHasNoMeaning) {
  EXPECT_ERROR(Sampler(5, 1, {.windows = {.num_streams = 2}}), invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.order = Order::sequential, .windows = {.window_block_bytes = 5}}),
               invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.order = Order::windowed, .windows = {.num_streams = -1}}),
               invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.order = Order::windowed, .windows = {.window_block_bytes = -1}}),
               invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.order = Order::windowed, .windows = {.window_block_bytes = 5}}),
               invalid_argument);
  const auto with = [](std::shared_ptr<const RecordPlaces> where) {
    return SamplerOptions{.order = Order::windowed,
                          .windows = {.window_block_bytes = 5, .places = std::move(where)}};
  };
  EXPECT_ERROR(Sampler(5, 1, with(places({{4, 4}}))), invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, with(places({{4, 4}, {0, 4}, {1, 1}}))), invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, with(places({{5, 5}}, {0, 1}))), invalid_argument);
}

// The figures of docs/storage-behaviour.md: records sorted by 1,000 classes, blocks of 76 records.
TEST(SamplerStreams, MixesClassesAsDocumented) {
  constexpr int64_t kShards = 64;
  constexpr int64_t kShardRecords = 32 * 76;
  constexpr int64_t kRecords = kShards * kShardRecords;
  for (const int64_t num_streams : {1, 8}) {
    const SamplerOptions options{.order = Order::windowed,
                                 .tail = Tail::exact,
                                 .windows = {.window_block_bytes = 76,
                                             .places = places(std::vector<RecordPlaces::Run>(
                                                 kShards, {kShardRecords, kShardRecords})),
                                             .num_streams = num_streams}};
    double same = 0;
    double distance = 0;
    double pairs = 0;
    const auto world_size = static_cast<int>(num_streams);
    std::vector<int64_t> batch;
    for (int rank = 0; rank < world_size; ++rank) {
      const Sampler sampler = sampler_of(kRecords, 256, options, rank, world_size);
      for (int64_t step = 0; step < kRecords / 256 / num_streams; ++step) {
        sampler.batch(1, 0, step, batch);
        for (size_t i = 1; i < batch.size(); ++i) {
          same += batch[i] * 1000 / kRecords == batch[i - 1] * 1000 / kRecords ? 1 : 0;
          distance += static_cast<double>(std::abs(batch[i] - batch[i - 1]));
          ++pairs;
        }
      }
    }
    // A full shuffle has a thousandth, and a distance of a third of the records.
    const double full_distance = static_cast<double>(kRecords) / 3;
    EXPECT_NEAR(same / pairs, num_streams == 1 ? 0.0144 : 0.0176, 0.002) << num_streams;
    EXPECT_NEAR(distance / pairs / full_distance, num_streams == 1 ? 0.98 : 0.86, 0.02);
  }
}

}  // namespace
}  // namespace ffkit
