#include "little_memory.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kNumSampled = 103;

std::vector<int64_t> batch(const Sampler& sampler, int64_t epoch, int64_t start, int64_t step) {
  std::vector<int64_t> out;
  sampler.batch(epoch, start, step, out);
  return out;
}

Sampler make_sampler(int64_t batch_size, SamplerOptions options, int rank = 0) {
  options.rank = rank;
  return Sampler(kNumSampled, batch_size, options);
}

// What all ranks together read from `start` on, in the order of the global sequence.
std::vector<int64_t> global_sequence(int64_t batch_size, const SamplerOptions& options,
                                     int64_t epoch, int64_t start = 0) {
  std::vector<int64_t> all;
  const int64_t num_steps = make_sampler(batch_size, options).num_batches(start);
  for (int64_t step = 0; step < num_steps; ++step) {
    for (int rank = 0; rank < options.world_size; ++rank) {
      const auto part = batch(make_sampler(batch_size, options, rank), epoch, start, step);
      all.insert(all.end(), part.begin(), part.end());
    }
  }
  return all;
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<int64_t> all_records() {
  std::vector<int64_t> all(kNumSampled);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(Sampler, SequentialOrderIsRecordOrder) {
  EXPECT_EQ(
      global_sequence(8, {.order = Order::sequential, .tail = Tail::exact, .world_size = 3}, 4),
      all_records());
}

TEST(Sampler, ExactTailReadsEveryRecordOnceOverAllRanks) {
  for (int world_size : {1, 2, 3, 8, 50}) {
    const auto all = global_sequence(4, {.tail = Tail::exact, .world_size = world_size}, 1);
    EXPECT_EQ(sorted(all), all_records()) << world_size;
  }
}

TEST(Sampler, DropLeavesOutLessThanOneStepAndRepeatsNothing) {
  for (int world_size : {1, 2, 5}) {
    const auto all = sorted(global_sequence(4, {.tail = Tail::drop, .world_size = world_size}, 1));
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    EXPECT_GT(static_cast<int64_t>(all.size()), kNumSampled - 4 * world_size);
    EXPECT_EQ(all.size() % static_cast<size_t>(4 * world_size), 0U);
  }
}

TEST(Sampler, PadReadsEveryRecordAndGoesOnFromTheBeginning) {
  for (int world_size : {1, 2, 5, 60}) {
    const auto all = global_sequence(4, {.tail = Tail::pad, .world_size = world_size}, 1);
    EXPECT_EQ(all.size() % static_cast<size_t>(4 * world_size), 0U);
    const std::vector<int64_t> once(all.begin(), all.begin() + kNumSampled);
    EXPECT_EQ(sorted(once), all_records());
    for (size_t i = kNumSampled; i < all.size(); ++i) EXPECT_EQ(all[i], all[i - kNumSampled]);
  }
}

TEST(Sampler, DropAndPadGiveEveryRankTheSameNumberOfFullBatches) {
  for (Tail tail : {Tail::drop, Tail::pad}) {
    const SamplerOptions options{.tail = tail, .world_size = 4};
    for (int rank = 0; rank < 4; ++rank) {
      const Sampler sampler = make_sampler(5, options, rank);
      EXPECT_EQ(sampler.num_batches(), tail == Tail::drop ? 5 : 6);
      for (int64_t step = 0; step < sampler.num_batches(); ++step) {
        EXPECT_EQ(batch(sampler, 0, 0, step).size(), 5U);
      }
    }
  }
}

TEST(Sampler, GlobalSequenceDoesNotDependOnWorldOrBatchSize) {
  const auto one = global_sequence(1, {.tail = Tail::exact, .seed = 3}, 2);
  for (int world_size : {1, 2, 3, 7}) {
    for (int64_t batch_size : {1, 4, 13}) {
      EXPECT_EQ(global_sequence(batch_size,
                                {.tail = Tail::exact, .seed = 3, .world_size = world_size}, 2),
                one);
    }
  }
}

TEST(Sampler, EpochsAndSeedsHaveOrdersOfTheirOwn) {
  const auto base = global_sequence(1, {.tail = Tail::exact, .seed = 3}, 0);
  EXPECT_NE(base, all_records());
  EXPECT_NE(base, global_sequence(1, {.tail = Tail::exact, .seed = 3}, 1));
  EXPECT_NE(base, global_sequence(1, {.tail = Tail::exact, .seed = 4}, 0));
  // (seed, epoch) are not simply added up.
  EXPECT_NE(global_sequence(1, {.tail = Tail::exact, .seed = 3}, 1),
            global_sequence(1, {.tail = Tail::exact, .seed = 4}, 0));
}

TEST(Sampler, GoesOnFromAPositionAtAnotherWorldAndBatchSize) {
  const auto all = global_sequence(1, {.tail = Tail::exact}, 0);
  const Sampler before = make_sampler(6, {.tail = Tail::exact, .world_size = 2});
  for (int64_t num_steps = 0; num_steps <= before.num_batches(); ++num_steps) {
    const int64_t position = before.position_after(0, num_steps);
    const auto rest = global_sequence(5, {.tail = Tail::exact, .world_size = 3}, 0, position);
    const std::vector<int64_t> expected(all.begin() + position, all.end());
    EXPECT_EQ(rest, expected) << "after " << num_steps << " steps";
  }
}

TEST(Sampler, PositionNeverPassesTheEnd) {
  const Sampler sampler = make_sampler(10, {.tail = Tail::pad});
  EXPECT_EQ(sampler.num_batches(), 11);
  EXPECT_EQ(sampler.position_after(0, 10), 100);
  EXPECT_EQ(sampler.position_after(0, 11), kNumSampled);
  EXPECT_EQ(sampler.num_batches(kNumSampled), 0);
}

TEST(Sampler, RefusesWhatMakesNoSense) {
  EXPECT_ERROR(Sampler(0, 1, {}), invalid_argument);
  EXPECT_ERROR(Sampler(5, 0, {}), invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.rank = 2, .world_size = 2}), invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.rank = -1, .world_size = 2}), invalid_argument);
  EXPECT_ERROR(Sampler(5, 1, {.world_size = 0}), invalid_argument);
}

TEST(Sampler, LimitsAreFarFromWhereIntegersEnd) {
  constexpr int64_t kMax = int64_t{1} << 60;
  constexpr int kRanks = 1 << 30;
  EXPECT_ERROR(Sampler(kMax + 1, 1, {}), invalid_argument);
  EXPECT_ERROR(Sampler(5, kMax + 1, {}), invalid_argument);
  EXPECT_ERROR(Sampler(5, kMax / kRanks + 1, {.world_size = kRanks}), invalid_argument);
  const auto weights = std::make_shared<const std::vector<double>>(5, 1.0);
  EXPECT_ERROR(
      Sampler(5, 1, {.order = Order::weighted, .epoch_size = kMax + 1, .weights = weights}),
      invalid_argument);
  // The last step of the largest epoch there is.
  for (const Order order : {Order::sequential, Order::shuffle, Order::windowed}) {
    for (const Tail tail : {Tail::drop, Tail::pad, Tail::exact}) {
      const Sampler sampler(kMax, kMax / kRanks / 1024,
                            {.order = order,
                             .tail = tail,
                             .rank = 5,
                             .world_size = kRanks,
                             .windows = {.window_block = kMax, .window_blocks = kMax}});
      EXPECT_EQ(sampler.num_batches(), 1024);
      EXPECT_EQ(sampler.position_after(0, 1024), kMax);
      EXPECT_EQ(sampler.num_batches(kMax - 1), tail == Tail::drop ? 0 : 1);
      EXPECT_GT(sampler.first_position(kMax - 1, 0), 0);
    }
  }
}

// Samplers that are used without a loader say that there is no memory by an Error, as all of the
// library does.
constexpr int64_t kManyRecords = 4 << 20;

void expect_error_without_memory(const std::function<void()>& call) {
  testing::expect_error_without_memory(
      8 << 20, "^there is not enough memory: .*; give the process more", call);
}

TEST(SamplerMemory, ThatIsNotThereForTheWeightsIsAnError) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  SamplerOptions options;
  options.order = Order::weighted;
  options.weights = std::make_shared<const std::vector<double>>(kManyRecords, 1.0);
  expect_error_without_memory([&] { Sampler(kManyRecords, 1, options); });
  const std::vector<int64_t> labels(kManyRecords, 3);
  expect_error_without_memory([&] { class_balanced_weights(labels); });
}

TEST(SamplerMemory, ThatIsNotThereForABatchIsAnError) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const Sampler sampler(10, int64_t{1} << 40, {.tail = Tail::pad});
  std::vector<int64_t> out;
  expect_error_without_memory([&] { sampler.batch(0, 0, 0, out); });
}

}  // namespace
}  // namespace ffkit
