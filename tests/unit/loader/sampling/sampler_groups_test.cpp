// Groups of records that stay together: scenes, windows.
#include "loader_prelude.h"

namespace ffkit {
namespace {

using Groups = std::vector<int64_t>;

std::vector<int64_t> epoch_of(const Groups& groups, int64_t num_records, int64_t batch_size,
                              int world_size, int64_t epoch, int64_t start = 0) {
  std::vector<int64_t> all;
  for (int64_t step = 0;; ++step) {
    const size_t before = all.size();
    for (int rank = 0; rank < world_size; ++rank) {
      const Sampler sampler(num_records, batch_size,
                            {.tail = Tail::exact,
                             .seed = 3,
                             .rank = rank,
                             .world_size = world_size,
                             .groups = std::make_shared<const Groups>(groups)});
      if (step >= sampler.num_batches(start)) continue;
      std::vector<int64_t> batch;
      sampler.batch(epoch, start, step, batch);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    if (all.size() == before) return all;
  }
}

// Checks that `sequence` is whole groups, each in order; returns the groups' numbers.
std::vector<size_t> groups_of(const std::vector<int64_t>& sequence, const Groups& groups,
                              int64_t num_records) {
  std::vector<size_t> order;
  for (size_t i = 0; i < sequence.size();) {
    const auto group =
        static_cast<size_t>(std::find(groups.begin(), groups.end(), sequence[i]) - groups.begin());
    if (group == groups.size()) {
      ADD_FAILURE() << "record " << sequence[i] << " does not begin a group";
      return order;
    }
    const int64_t end = group + 1 < groups.size() ? groups[group + 1] : num_records;
    for (int64_t record = groups[group]; record < end; ++record) EXPECT_EQ(sequence[i++], record);
    order.push_back(group);
  }
  return order;
}

TEST(SamplerGroups, GroupsStayTogetherInTheirOrder) {
  for (const Groups& groups : {Groups{0, 4, 8, 12, 16}, Groups{0, 1, 7, 9, 16}}) {
    const auto first = epoch_of(groups, 20, 3, 1, 0);
    const auto second = epoch_of(groups, 20, 3, 1, 1);
    auto order = groups_of(first, groups, 20);
    EXPECT_NE(order, groups_of(second, groups, 20));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4}));
  }
}

TEST(SamplerGroups, TheSequenceIsTheSameForAnyWorldAndBatchSize) {
  for (const Groups& groups : {Groups{0, 5, 10, 15}, Groups{0, 2, 3, 11}}) {
    const auto expected = epoch_of(groups, 20, 1, 1, 4);
    EXPECT_EQ(epoch_of(groups, 20, 3, 2, 4), expected);
    EXPECT_EQ(epoch_of(groups, 20, 7, 1, 4), expected);
    // Resumed in the midst of it.
    EXPECT_EQ(epoch_of(groups, 20, 4, 2, 4, 9),
              std::vector<int64_t>(expected.begin() + 9, expected.end()));
  }
}

TEST(SamplerGroups, SequentialOrderIgnoresThem) {
  const Sampler sampler(
      6, 6, {.order = Order::sequential, .groups = std::make_shared<const Groups>(Groups{0, 2})});
  std::vector<int64_t> batch;
  sampler.batch(0, 0, 0, batch);
  EXPECT_EQ(batch, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(SamplerGroups, AGroupSharesItsFirstRecordsRandomness) {
  SamplerOptions shared;
  shared.groups = std::make_shared<const Groups>(Groups{0, 3, 4});
  shared.share_randomness = true;
  EXPECT_EQ(random_record(shared, 2), 0);
  EXPECT_EQ(random_record(shared, 3), 3);
  EXPECT_EQ(random_record(shared, 9), 4);
  SamplerOptions own = shared;
  own.share_randomness = false;
  EXPECT_EQ(random_record(own, 2), 2);
}

TEST(SamplerGroups, WhatIsNoGroupingIsRefused) {
  const auto make = [](Groups groups, Order order = Order::shuffle) {
    return Sampler(10, 2,
                   {.order = order, .groups = std::make_shared<const Groups>(std::move(groups))});
  };
  EXPECT_ERROR(make({}), invalid_argument);
  EXPECT_ERROR(make({1}), invalid_argument);
  EXPECT_ERROR(make({0, 5, 5}), invalid_argument);
  EXPECT_ERROR(make({0, 10}), invalid_argument);
  EXPECT_ERROR(make({0}, Order::windowed), invalid_argument);
  EXPECT_ERROR(Sampler(10, 2, {.share_randomness = true}), invalid_argument);
}

// First the others of its own group, the earlier ones first; then the records at its place in the
// other groups.
TEST(SamplerReplacement, StaysWithinTheGroupAndThenAtThePlace) {
  SamplerOptions options;
  options.groups = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0, 4, 8, 12});
  const Sampler sampler(16, 4, options);
  for (const int64_t first : *options.groups) {
    std::vector<int64_t> own;
    for (int attempt = 0; attempt < 3; ++attempt) {
      own.push_back(sampler.replacement(0, first + 1, attempt));
    }
    EXPECT_EQ(own, (std::vector<int64_t>{first, first + 2, first + 3}));
    for (int attempt = 3; attempt < 30; ++attempt) {
      const int64_t other = sampler.replacement(0, first + 1, attempt);
      EXPECT_EQ(other % 4, 1) << "attempt " << attempt;
      EXPECT_NE(other, first + 1);
    }
  }
}

}  // namespace
}  // namespace ffkit
