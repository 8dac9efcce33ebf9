// Tail::even and Tail::balanced: how the ranks share the end of an epoch.
#include "epoch_run.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

struct TailCase {
  int64_t num_records;
  int world_size;
  int64_t batch_size;
  int64_t start;
};

Sampler tail_sampler(const TailCase& c, Tail tail, int rank) {
  return Sampler(
      c.num_records, c.batch_size,
      {.order = Order::sequential, .tail = tail, .rank = rank, .world_size = c.world_size});
}

// Of each rank, its batches.
std::vector<std::vector<std::vector<int64_t>>> batches_of(const TailCase& c, Tail tail) {
  std::vector<std::vector<std::vector<int64_t>>> ranks;
  for (int rank = 0; rank < c.world_size; ++rank) {
    const Sampler sampler = tail_sampler(c, tail, rank);
    std::vector<std::vector<int64_t>>& batches = ranks.emplace_back();
    for (int64_t step = 0; step < num_batches_on_rank(sampler, c.start); ++step) {
      sampler.batch(0, c.start, step, batches.emplace_back());
      EXPECT_EQ(std::ssize(batches.back()), sampler.num_samples(c.start, step));
      EXPECT_EQ(batches.back().front(), sampler.first_position(c.start, step) % c.num_records);
    }
  }
  return ranks;
}

std::vector<TailCase> tail_cases() {
  std::vector<TailCase> all;
  for (const int64_t num_records : {1, 2, 7, 16, 17, 31, 32, 33, 49, 51, 64}) {
    for (const int world_size : {1, 2, 3, 4, 8}) {
      for (const int64_t batch_size : {1, 2, 3, 8, 70}) {
        for (const int64_t start : {int64_t{0}, num_records / 3, num_records - 1, num_records}) {
          all.push_back({num_records, world_size, batch_size, start});
        }
      }
    }
  }
  return all;
}

std::vector<int64_t> positions_from(int64_t start, int64_t count, int64_t num_records) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), start);
  for (int64_t& position : positions) position %= num_records;
  return positions;
}

// Every step takes the positions that follow those of the step before, rank by rank; and a state
// after it goes on behind them.
void expect_in_order(const TailCase& c, Tail tail,
                     const std::vector<std::vector<std::vector<int64_t>>>& ranks,
                     int64_t num_samples) {
  std::vector<int64_t> all;
  const Sampler sampler = tail_sampler(c, tail, 0);
  for (int64_t step = 0; step < sampler.num_batches(c.start); ++step) {
    EXPECT_EQ(sampler.position_after(c.start, step),
              std::min(c.start + std::ssize(all), c.num_records));
    for (const auto& batches : ranks) {
      if (step >= std::ssize(batches)) continue;
      const std::vector<int64_t>& batch = batches[static_cast<size_t>(step)];
      EXPECT_FALSE(batch.empty());
      EXPECT_LE(std::ssize(batch), c.batch_size);
      all.insert(all.end(), batch.begin(), batch.end());
    }
  }
  EXPECT_EQ(sampler.position_after(c.start, sampler.num_batches(c.start)), c.num_records);
  EXPECT_EQ(all, positions_from(c.start, num_samples, c.num_records));
}

TEST(SamplerTails, EvenGivesEachRankTheSameNumberOfSamples) {
  for (const TailCase& c : tail_cases()) {
    SCOPED_TRACE(::testing::Message() << c.num_records << " records from " << c.start << ", "
                                      << c.world_size << " ranks of " << c.batch_size);
    const auto ranks = batches_of(c, Tail::even);
    const int64_t per_rank = (c.num_records - c.start + c.world_size - 1) / c.world_size;
    for (const auto& batches : ranks) {
      ASSERT_EQ(std::ssize(batches), (per_rank + c.batch_size - 1) / c.batch_size);
      for (size_t step = 0; step < batches.size(); ++step) {
        EXPECT_EQ(batches[step].size(), ranks[0][step].size());
        if (step + 1 < batches.size()) {
          EXPECT_EQ(std::ssize(batches[step]), c.batch_size);
        }
      }
    }
    expect_in_order(c, Tail::even, ranks, per_rank * c.world_size);
  }
}

TEST(SamplerTails, BalancedGivesEachRecordOnceAndEachRankABatchInEachStep) {
  for (const TailCase& c : tail_cases()) {
    SCOPED_TRACE(::testing::Message() << c.num_records << " records from " << c.start << ", "
                                      << c.world_size << " ranks of " << c.batch_size);
    const auto ranks = batches_of(c, Tail::balanced);
    const int64_t left = c.num_records - c.start;
    expect_in_order(c, Tail::balanced, ranks, left);
    const bool can_be = left >= c.world_size && (c.batch_size > 1 || left % c.world_size == 0);
    for (const auto& batches : ranks) {
      EXPECT_LE(std::ssize(ranks[0]) - std::ssize(batches), can_be ? 0 : 1);
      for (size_t step = 0; step < batches.size(); ++step) {
        EXPECT_LE(std::abs(std::ssize(batches[step]) - std::ssize(ranks[0][step])), 1);
      }
    }
  }
}

TEST(SamplerTails, AreTorchsNumbers) {
  const auto sizes = [](const TailCase& c, Tail tail, int rank) {
    std::vector<size_t> out;
    const auto ranks = batches_of(c, tail);
    for (const auto& batch : ranks[static_cast<size_t>(rank)]) out.push_back(batch.size());
    return out;
  };
  const TailCase odd{51, 2, 8, 0};
  EXPECT_EQ(sizes(odd, Tail::even, 0), (std::vector<size_t>{8, 8, 8, 2}));
  EXPECT_EQ(sizes(odd, Tail::even, 1), (std::vector<size_t>{8, 8, 8, 2}));
  EXPECT_EQ(sizes(odd, Tail::balanced, 0), (std::vector<size_t>{8, 8, 8, 2}));
  EXPECT_EQ(sizes(odd, Tail::balanced, 1), (std::vector<size_t>{8, 8, 8, 1}));
  const TailCase one_more{49, 2, 8, 0};
  EXPECT_EQ(sizes(one_more, Tail::balanced, 0), (std::vector<size_t>{8, 8, 8, 1}));
  EXPECT_EQ(sizes(one_more, Tail::balanced, 1), (std::vector<size_t>{8, 8, 7, 1}));
}

TEST(SamplerTails, ImageNetsValidationIsSharedExactly) {
  int64_t sum = 0;
  for (int rank = 0; rank < 8; ++rank) {
    const Sampler sampler = tail_sampler({50'000, 8, 256, 0}, Tail::balanced, rank);
    ASSERT_EQ(num_batches_on_rank(sampler, 0), 25);
    for (int64_t step = 0; step < 25; ++step) sum += sampler.num_samples(0, step);
  }
  EXPECT_EQ(sum, 50'000);
}

// A run that goes on with other ranks and batches from any state sees the rest once.
TEST(SamplerTails, StatesGoOnWithOtherRanks) {
  for (const TailCase& c : tail_cases()) {
    const Sampler first = tail_sampler(c, Tail::balanced, 0);
    for (int64_t step = 0; step <= first.num_batches(c.start); ++step) {
      const int64_t position = first.position_after(c.start, step);
      const TailCase rest{c.num_records, 3, 4, position};
      expect_in_order(rest, Tail::balanced, batches_of(rest, Tail::balanced),
                      c.num_records - position);
    }
  }
}

}  // namespace
}  // namespace ffkit
