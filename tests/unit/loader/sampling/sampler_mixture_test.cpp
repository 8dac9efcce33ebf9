#include "base/mix64.h"
#include "loader_prelude.h"
#include "sampling/record_orders.h"

namespace ffkit {
namespace {

// Data sets of 10, 40 and 25 records.
const std::vector<int64_t> kSetSizes = {10, 40, 25};
constexpr int64_t kMixedRecords = 75;

SamplerOptions mixed(std::vector<double> weights, int64_t epoch_size = 0) {
  return {.tail = Tail::exact,
          .seed = 5,
          .epoch_size = epoch_size,
          .mixture = Mixture{.num_records = kSetSizes, .weights = std::move(weights)}};
}

int64_t set_of(int64_t record) {
  return record < 10 ? 0 : record < 50 ? 1 : 2;
}

struct Sequence {
  std::vector<int64_t> records;
  std::vector<int64_t> repetitions;
  bool operator==(const Sequence&) const = default;
};

// What all ranks together read from `start` on, in the order of the global sequence.
Sequence mixed_sequence(const SamplerOptions& options, int64_t batch_size, int64_t epoch,
                        int64_t start = 0) {
  Sequence all;
  std::vector<int64_t> records, repetitions;
  const int64_t num_steps = Sampler(kMixedRecords, batch_size, options).num_batches(start);
  for (int64_t step = 0; step < num_steps; ++step) {
    for (int rank = 0; rank < options.world_size; ++rank) {
      SamplerOptions own = options;
      own.rank = rank;
      Sampler(kMixedRecords, batch_size, own).batch(epoch, start, step, records, repetitions);
      all.records.insert(all.records.end(), records.begin(), records.end());
      all.repetitions.insert(all.repetitions.end(), repetitions.begin(), repetitions.end());
    }
  }
  return all;
}

std::vector<int64_t> counts_by_set(const std::vector<int64_t>& records) {
  std::vector<int64_t> counts(kSetSizes.size());
  for (const int64_t record : records) ++counts[static_cast<size_t>(set_of(record))];
  return counts;
}

TEST(Mixture, EqualSharesAreTheLargestSetForEach) {
  EXPECT_THAT(mixture_counts({.num_records = kSetSizes}), ElementsAre(40, 40, 40));
  EXPECT_THAT(mixture_counts({.num_records = kSetSizes}, 100), ElementsAre(34, 33, 33));
  EXPECT_THAT(mixture_counts({.num_records = {7}}), ElementsAre(7));
}

TEST(Mixture, WeightsShareAsManySamplesAsThereAreRecords) {
  EXPECT_THAT(mixture_counts({.num_records = kSetSizes, .weights = {1, 1, 1}}),
              ElementsAre(25, 25, 25));
  EXPECT_THAT(mixture_counts({.num_records = kSetSizes, .weights = {2, 4, 9}}),
              ElementsAre(10, 20, 45));
  // Each set as often as it is large: what no mixture would give.
  EXPECT_THAT(mixture_counts({.num_records = kSetSizes, .weights = {10, 40, 25}}),
              ElementsAre(10, 40, 25));
  EXPECT_THAT(mixture_counts({.num_records = {100, 300}, .weights = {1, 3}}),
              ElementsAre(100, 300));
}

// By largest remainder: 1/3 of 100 is 33 and a third, 2/3 is 66 and two thirds.
TEST(Mixture, WhatIsLeftGoesToTheLargestRemainders) {
  EXPECT_THAT(mixture_counts({.num_records = {60, 40}, .weights = {1, 2}}), ElementsAre(33, 67));
  EXPECT_THAT(mixture_counts({.num_records = {60, 40}, .weights = {1e300, 2e300}}),
              ElementsAre(33, 67));
  EXPECT_THAT(mixture_counts({.num_records = {5, 5, 5}, .weights = {1, 1, 1}}, 4),
              ElementsAre(2, 1, 1));
  constexpr int64_t kLarge = int64_t{1} << 60;
  const auto large = mixture_counts({.num_records = {1, 1}, .weights = {1, 3}}, kLarge);
  EXPECT_EQ(large[0] + large[1], kLarge);
  EXPECT_NEAR(static_cast<double>(large[0]), static_cast<double>(kLarge / 4), 1e7);
}

TEST(Mixture, RefusesWhatMakesNoSense) {
  EXPECT_ERROR(mixture_counts({}), invalid_argument);
  EXPECT_ERROR(mixture_counts({.num_records = {3, 0}}), invalid_argument);
  EXPECT_ERROR(mixture_counts({.num_records = {3, 4}, .weights = {1}}), invalid_argument);
  EXPECT_ERROR(mixture_counts({.num_records = {3, 4}, .weights = {1, 0}}), invalid_argument);
  EXPECT_ERROR(mixture_counts({.num_records = {3, 4}, .weights = {1e9, 1}}), invalid_argument);
  EXPECT_ERROR(mixture_counts({.num_records = {3, 4}}, -1), invalid_argument);
}

TEST(SamplerMixture, AnEpochHasExactlyTheCountsOfEachSet) {
  for (const auto& weights : {std::vector<double>{}, {1, 1, 1}, {1, 5, 2}, {0.3, 0.1, 7}}) {
    for (const int64_t epoch_size : {0, 31, 1000}) {
      const SamplerOptions options = mixed(weights, epoch_size);
      const auto counts = mixture_counts(*options.mixture, epoch_size);
      const auto sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
      ASSERT_EQ(Sampler(kMixedRecords, 4, options).epoch_size(), sum);
      for (const int64_t epoch : {0, 3}) {
        EXPECT_EQ(counts_by_set(mixed_sequence(options, 7, epoch).records), counts);
      }
    }
  }
}

TEST(SamplerMixture, RecordsOfASetAreUsedEquallyOften) {
  // 70 samples of each set: of 10 records 7 times each, of 40 once or twice, of 25 twice or three
  // times.
  const Sequence epoch = mixed_sequence(mixed({}, 210), 7, 2);
  std::map<int64_t, int64_t> uses;
  std::set<std::pair<int64_t, int64_t>> samples;
  for (size_t i = 0; i < epoch.records.size(); ++i) {
    ++uses[epoch.records[i]];
    samples.insert({epoch.records[i], epoch.repetitions[i]});
  }
  ASSERT_EQ(uses.size(), 75U);
  for (const auto& [record, count] : uses) {
    const int64_t size = kSetSizes[static_cast<size_t>(set_of(record))];
    EXPECT_GE(count, 70 / size) << record;
    EXPECT_LE(count, (70 + size - 1) / size) << record;
  }
  // Each use of a record is a sample of its own, numbered from 0.
  EXPECT_EQ(samples.size(), 210U);
  for (const auto& [record, repetition] : samples) EXPECT_LT(repetition, uses[record]);
  EXPECT_EQ(*std::ranges::max_element(epoch.repetitions), 6);
}

// By data set, as the samples stand before they are spread over the epoch.
TEST(SamplerMixture, EachRepetitionIsAnotherPermutation) {
  const Mixture mixture{.num_records = {20, 6}, .weights = {20, 1}};
  const MixedSets sets(mixture, {60, 3});
  constexpr uint64_t kKey = 77;
  const MixedOrder order(sets, kKey);
  const Permutation spread(63, mix64(kKey, 0));
  std::vector<std::vector<int64_t>> repetitions(3, std::vector<int64_t>(20));
  for (int64_t position = 0; position < 63; ++position) {
    const int64_t sample = spread(position);
    const MixedOrder::Sample got = order(position);
    if (sample < 60) {
      ASSERT_EQ(got.repetition, sample / 20);
      repetitions[static_cast<size_t>(sample / 20)][static_cast<size_t>(sample % 20)] = got.record;
    } else {
      ASSERT_GE(got.record, 20);
    }
  }
  EXPECT_NE(repetitions[0], repetitions[1]);
  EXPECT_NE(repetitions[1], repetitions[2]);
  for (std::vector<int64_t>& records : repetitions) {
    std::ranges::sort(records);
    for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(records[static_cast<size_t>(i)], i);
  }
}

// Were a set's records in the same order in each epoch, those that come once more would always be
// the same.
TEST(SamplerMixture, EachEpochIsAnotherOrder) {
  const auto once_more = [](int64_t epoch) {
    std::set<int64_t> records;
    const Sequence all = mixed_sequence(mixed({}, 45), 45, epoch);  // 15 samples of 10 records
    for (size_t i = 0; i < all.records.size(); ++i) {
      if (all.repetitions[i] == 1) records.insert(all.records[i]);
    }
    return records;
  };
  EXPECT_EQ(once_more(0).size(), 5U);
  EXPECT_NE(once_more(0), once_more(1));
  SamplerOptions other = mixed({});
  const Sequence base = mixed_sequence(other, 8, 0);
  EXPECT_NE(base, mixed_sequence(other, 8, 1));
  other.seed = 6;
  EXPECT_NE(base, mixed_sequence(other, 8, 0));
}

TEST(SamplerMixture, TheSetsAreSpreadOverTheEpoch) {
  // The first half of an epoch has about half of each set's samples.
  const Sequence epoch = mixed_sequence(mixed({1, 1, 2}, 2000), 50, 0);
  const auto half = counts_by_set({epoch.records.begin(), epoch.records.begin() + 1000});
  EXPECT_NEAR(static_cast<double>(half[0]), 250, 60);
  EXPECT_NEAR(static_cast<double>(half[1]), 250, 60);
  EXPECT_NEAR(static_cast<double>(half[2]), 500, 60);
}

TEST(SamplerMixture, GlobalSequenceDoesNotDependOnWorldOrBatchSize) {
  SamplerOptions options = mixed({1, 2, 4});
  const Sequence one = mixed_sequence(options, 1, 2);
  for (const int world_size : {1, 2, 3, 7}) {
    for (const int64_t batch_size : {1, 4, 13}) {
      options.world_size = world_size;
      EXPECT_EQ(mixed_sequence(options, batch_size, 2), one);
    }
  }
}

TEST(SamplerMixture, GoesOnFromAPositionAtAnotherWorldAndBatchSize) {
  SamplerOptions options = mixed({3, 1, 1});
  const Sequence all = mixed_sequence(options, 1, 1);
  options.world_size = 2;
  const Sampler before(kMixedRecords, 6, options);
  options.world_size = 3;
  for (int64_t num_steps = 0; num_steps <= before.num_batches(); ++num_steps) {
    const int64_t position = before.position_after(0, num_steps);
    const Sequence rest = mixed_sequence(options, 5, 1, position);
    EXPECT_EQ(rest.records,
              (std::vector<int64_t>(all.records.begin() + position, all.records.end())));
    EXPECT_EQ(rest.repetitions,
              (std::vector<int64_t>(all.repetitions.begin() + position, all.repetitions.end())));
  }
}

TEST(SamplerMixture, IsTheSameInEveryRelease) {
  const Sequence epoch = mixed_sequence(mixed({}, 12), 12, 2);
  EXPECT_THAT(epoch.records, ElementsAre(8, 0, 59, 55, 21, 6, 48, 12, 45, 69, 57, 3));
}

TEST(SamplerMixture, ReplacementsAreOfTheSameSet) {
  const Sampler sampler(kMixedRecords, 4, mixed({}));
  for (int64_t bad = 0; bad < kMixedRecords; ++bad) {
    for (int attempt = 0; attempt < 16; ++attempt) {
      EXPECT_EQ(set_of(sampler.replacement(1, bad, attempt)), set_of(bad));
    }
  }
  EXPECT_NE(sampler.replacement(1, 3, 0), sampler.replacement(2, 3, 0));
}

TEST(SamplerMixture, TheDescriptionNamesSamplesAndRecords) {
  EXPECT_EQ(Sampler(kMixedRecords, 4, mixed({1, 1, 2}, 40)).description(),
            "mixture of 10/10 + 10/40 + 20/25, 40 samples");
  EXPECT_NE(Sampler(kMixedRecords, 4, mixed({1, 1, 2})).description(),
            Sampler(kMixedRecords, 4, mixed({1, 1, 3})).description());
}

TEST(SamplerMixture, RefusesWhatItCannotMix) {
  for (const Order order : {Order::sequential, Order::windowed}) {
    SamplerOptions options = mixed({});
    options.order = order;
    EXPECT_ERROR(Sampler(kMixedRecords, 4, options), invalid_argument);
  }
  SamplerOptions grouped = mixed({});
  grouped.groups = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0, 10});
  EXPECT_ERROR(Sampler(kMixedRecords, 4, grouped), invalid_argument);
  SamplerOptions weighted = mixed({});
  weighted.order = Order::weighted;
  weighted.weights = std::make_shared<const std::vector<double>>(kMixedRecords, 1.0);
  EXPECT_ERROR(Sampler(kMixedRecords, 4, weighted), invalid_argument);
  EXPECT_ERROR(Sampler(kMixedRecords + 1, 4, mixed({})), invalid_argument);
}

}  // namespace
}  // namespace ffkit
