// What must hold for any number of records, batch size, world and place to go on from, in every
// order.
#include "loader_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kSizes[] = {1, 2, 3, 5, 7, 16, 31, 64, 97};
constexpr int64_t kBatches[] = {1, 2, 3, 8, 50, 200};
constexpr int kWorlds[] = {1, 2, 3, 5, 8, 70};

class SamplerProperties : public ::testing::TestWithParam<Order> {
 protected:
  static SamplerOptions make_options(int64_t n, Tail tail, int world_size, int rank = 0) {
    SamplerOptions options{.order = GetParam(),
                           .tail = tail,
                           .seed = 11,
                           .rank = rank,
                           .world_size = world_size,
                           .windows = {.window_block = 4, .window_blocks = 3}};
    if (GetParam() == Order::weighted) {
      std::vector<double> weights;
      for (int64_t i = 0; i < n; ++i) weights.push_back(static_cast<double>(1 + i % 3));
      options.weights = std::make_shared<const std::vector<double>>(std::move(weights));
      options.epoch_size = n + 3;
    }
    return options;
  }

  // The epoch's sequence, a position at a time.
  static std::vector<int64_t> sequence(int64_t n) {
    const Sampler sampler(n, 1, make_options(n, Tail::exact, 1));
    std::vector<int64_t> all;
    std::vector<int64_t> one;
    for (int64_t i = 0; i < sampler.num_batches(); ++i) {
      sampler.batch(2, 0, i, one);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  // What the ranks of a world read from `start` on, `num_steps` at most.
  struct World {
    std::vector<int64_t> records;
    int64_t num_steps = 0;
    std::vector<int64_t> batch_sizes;
  };
  static World read(int64_t n, int64_t batch_size, Tail tail, int world_size, int64_t start,
                    int64_t max_steps = INT64_MAX) {
    World world;
    std::vector<Sampler> ranks;
    for (int rank = 0; rank < world_size; ++rank) {
      ranks.emplace_back(n, batch_size, make_options(n, tail, world_size, rank));
      const int64_t steps = ranks.back().num_batches(start);
      if (rank == 0) world.num_steps = steps;
      EXPECT_EQ(steps, world.num_steps) << "every rank takes the same number of steps";
    }
    world.num_steps = std::min(world.num_steps, max_steps);
    std::vector<int64_t> batch;
    for (int64_t step = 0; step < world.num_steps; ++step) {
      for (const Sampler& sampler : ranks) {
        sampler.batch(2, start, step, batch);
        world.records.insert(world.records.end(), batch.begin(), batch.end());
        world.batch_sizes.push_back(std::ssize(batch));
      }
    }
    return world;
  }
};

TEST_P(SamplerProperties, ExactReadsEveryPositionOnceInAnyWorld) {
  for (int64_t n : kSizes) {
    const auto expected = sequence(n);
    if (GetParam() != Order::weighted) {
      auto sorted = expected;
      std::sort(sorted.begin(), sorted.end());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(sorted[static_cast<size_t>(i)], i);
    }
    for (int64_t batch_size : kBatches) {
      for (int world_size : kWorlds) {
        ASSERT_EQ(read(n, batch_size, Tail::exact, world_size, 0).records, expected)
            << n << " records, batch " << batch_size << ", world " << world_size;
      }
    }
  }
}

TEST_P(SamplerProperties, DropAndPadGiveEqualFullBatchesAndTheSequenceOrItsBeginningAgain) {
  for (int64_t n : kSizes) {
    const auto epoch = sequence(n);
    for (int64_t batch_size : kBatches) {
      for (int world_size : kWorlds) {
        const int64_t step = batch_size * world_size;
        for (Tail tail : {Tail::drop, Tail::pad}) {
          const World world = read(n, batch_size, tail, world_size, 0);
          for (int64_t size : world.batch_sizes) ASSERT_EQ(size, batch_size);
          const auto wanted = tail == Tail::drop ? std::ssize(epoch) / step * step
                                                 : (std::ssize(epoch) + step - 1) / step * step;
          ASSERT_EQ(std::ssize(world.records), wanted);
          for (size_t i = 0; i < world.records.size(); ++i) {
            ASSERT_EQ(world.records[i], epoch[i % epoch.size()])
                << n << " records, batch " << batch_size << ", world " << world_size;
          }
        }
      }
    }
  }
}

// Stopped after any number of steps and resumed by another world with other batches: together
// exactly the epoch.
TEST_P(SamplerProperties, ResumingElsewhereLosesAndRepeatsNothing) {
  for (int64_t n : {1, 5, 31, 97}) {
    const auto epoch = sequence(n);
    for (int64_t batch_size : {1, 3, 8}) {
      for (int world_size : {1, 2, 5}) {
        const Sampler sampler(n, batch_size, make_options(n, Tail::exact, world_size));
        for (int64_t steps = 0; steps <= sampler.num_batches(); ++steps) {
          const int64_t position = sampler.position_after(0, steps);
          ASSERT_LE(position, sampler.epoch_size());
          const World before = read(n, batch_size, Tail::exact, world_size, 0, steps);
          ASSERT_EQ(std::ssize(before.records), position);
          for (int other_world : {1, 3, 8}) {
            for (int64_t other_batch : {2, 50}) {
              auto all = before.records;
              const World after = read(n, other_batch, Tail::exact, other_world, position);
              all.insert(all.end(), after.records.begin(), after.records.end());
              ASSERT_EQ(all, epoch) << n << " records, stopped at " << position;
            }
          }
        }
      }
    }
  }
}

// A shorter epoch is the beginning of the whole one, for every tail.
TEST_P(SamplerProperties, EpochSizeCutsTheSequence) {
  for (int64_t n : {2, 31, 97}) {
    const auto whole = sequence(n);
    for (int64_t epoch_size : {int64_t{1}, n / 2, n}) {
      SamplerOptions options = make_options(n, Tail::exact, 1);
      options.epoch_size = epoch_size;
      const Sampler sampler(n, 200, options);
      EXPECT_EQ(sampler.epoch_size(), epoch_size);
      std::vector<int64_t> batch;
      sampler.batch(2, 0, 0, batch);
      EXPECT_EQ(batch, std::vector<int64_t>(whole.begin(), whole.begin() + epoch_size));
      options.tail = Tail::pad;
      Sampler(n, 200, options).batch(2, 0, 0, batch);
      ASSERT_EQ(batch.size(), 200U);
      for (size_t i = 0; i < 200; ++i) {
        ASSERT_EQ(batch[i], whole[i % static_cast<size_t>(epoch_size)]);
      }
    }
  }
}

std::string name_of_order(const ::testing::TestParamInfo<Order>& info) {
  constexpr const char* kNames[] = {"sequential", "shuffle", "windowed", "weighted"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Orders, SamplerProperties,
                         ::testing::Values(Order::sequential, Order::shuffle, Order::windowed,
                                           Order::weighted),
                         name_of_order);

}  // namespace
}  // namespace ffkit
