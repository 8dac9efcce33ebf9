#include "loader_prelude.h"
#include "sampling/record_orders.h"

namespace ffkit {
namespace {

std::shared_ptr<const std::vector<double>> share(std::vector<double> weights) {
  return std::make_shared<const std::vector<double>>(std::move(weights));
}

SamplerOptions weighted(std::vector<double> weights, int64_t epoch_size = 0) {
  return {.order = Order::weighted,
          .tail = Tail::exact,
          .seed = 7,
          .epoch_size = epoch_size,
          .weights = share(std::move(weights))};
}

std::vector<int64_t> epoch(const SamplerOptions& options, int64_t num_records, int64_t number) {
  const Sampler sampler(num_records, 1 << 20, options);
  std::vector<int64_t> out;
  sampler.batch(number, 0, 0, out);
  return out;
}

TEST(SamplerWeighted, DrawsAsOftenAsTheWeightsSay) {
  const std::vector<double> weights = {1, 2, 3, 4, 0, 10};
  constexpr int64_t kDraws = 200'000;
  const auto draws = epoch(weighted(weights, kDraws), 6, 0);
  ASSERT_EQ(std::ssize(draws), kDraws);
  double chi_square = 0;
  for (int64_t record = 0; record < 6; ++record) {
    const auto count = static_cast<double>(std::count(draws.begin(), draws.end(), record));
    const double expected = weights[static_cast<size_t>(record)] / 20 * kDraws;
    if (expected == 0) {
      EXPECT_EQ(count, 0);
      continue;
    }
    chi_square += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_square, 23.5);  // 4 degrees of freedom, p = 0.0001
}

TEST(SamplerWeighted, DrawsAreIndependent) {
  const auto draws = epoch(weighted(std::vector<double>(4, 1.0), 100'000), 4, 3);
  std::vector<double> pairs(16);
  for (size_t i = 0; i + 1 < draws.size(); i += 2) {
    ++pairs[static_cast<size_t>(draws[i] * 4 + draws[i + 1])];
  }
  double chi_square = 0;
  for (double count : pairs) chi_square += (count - 3125) * (count - 3125) / 3125;
  EXPECT_LT(chi_square, 44.3);  // 15 degrees of freedom, p = 0.0001
}

TEST(SamplerWeighted, EpochsAndSeedsDrawAnew) {
  SamplerOptions options = weighted(std::vector<double>(50, 1.0));
  const auto base = epoch(options, 50, 0);
  EXPECT_EQ(base, epoch(options, 50, 0));
  EXPECT_NE(base, epoch(options, 50, 1));
  options.seed = 8;
  EXPECT_NE(base, epoch(options, 50, 0));
}

TEST(SamplerWeighted, IsTheSameInEveryRelease) {
  const auto draws = epoch(weighted({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), 10, 2);
  EXPECT_EQ(draws, (std::vector<int64_t>{9, 9, 2, 5, 4, 8, 2, 9, 6, 8}));
}

TEST(SamplerWeighted, ClassBalancedWeightsDrawEveryClassEquallyOften) {
  std::vector<int64_t> labels;  // 900 of class 5, 90 of class -1, 10 of class 7
  for (int i = 0; i < 1000; ++i) labels.push_back(i < 900 ? 5 : i < 990 ? -1 : 7);
  constexpr int64_t kDraws = 90'000;
  const auto draws = epoch(weighted(class_balanced_weights(labels), kDraws), 1000, 0);
  for (int64_t label : {5, -1, 7}) {
    const auto count = std::count_if(draws.begin(), draws.end(), [&](int64_t record) {
      return labels[static_cast<size_t>(record)] == label;
    });
    // Five standard deviations of a binomial with p = 1/3.
    EXPECT_NEAR(static_cast<double>(count), 30'000, 5 * std::sqrt(20'000)) << label;
  }
}

TEST(SamplerWeighted, EpochSizeIsItsOwnAndPositionsGoOnFromAnywhere) {
  const SamplerOptions options = weighted({1, 2, 3}, 1000);
  const Sampler all(3, 1000, options);
  EXPECT_EQ(all.epoch_size(), 1000);
  EXPECT_EQ(all.num_batches(), 1);
  EXPECT_EQ(all.position_after(0, 5), 1000);
  const auto whole = epoch(options, 3, 4);
  for (int world_size : {1, 3}) {
    for (int64_t start : {0, 1, 999, 1000}) {
      std::vector<int64_t> rest;
      SamplerOptions part = options;
      part.world_size = world_size;
      const int64_t num_steps = Sampler(3, 7, part).num_batches(start);
      for (int64_t step = 0; step < num_steps; ++step) {
        for (part.rank = 0; part.rank < world_size; ++part.rank) {
          std::vector<int64_t> batch;
          Sampler(3, 7, part).batch(4, start, step, batch);
          rest.insert(rest.end(), batch.begin(), batch.end());
        }
        part.rank = 0;
      }
      EXPECT_EQ(rest, std::vector<int64_t>(whole.begin() + start, whole.end()));
    }
  }
}

TEST(SamplerWeighted, RefusesWeightsThatDoNotFit) {
  EXPECT_ERROR(Sampler(4, 1, weighted({1, 2, 3})), invalid_argument);
  SamplerOptions options = weighted({1, 2, 3});
  options.order = Order::shuffle;
  EXPECT_ERROR(Sampler(3, 1, options), invalid_argument);
  EXPECT_ERROR(Sampler(3, 1, {.order = Order::weighted}), invalid_argument);
  EXPECT_ERROR(Sampler(3, 1, weighted({1, 2, 3}, -1)), invalid_argument);
  EXPECT_ERROR(Sampler(3, 1, {.epoch_size = 4}), invalid_argument);
}

// The probabilities that the table stands for, from its columns: the coin is even over 2^32 values.
std::vector<double> probabilities(const AliasTable& table) {
  constexpr double kTwoTo32 = 4294967296.0;
  std::vector<double> result(static_cast<size_t>(table.size()));
  for (int64_t column = 0; column < table.size(); ++column) {
    // The share of coins that give the column itself, by bisection.
    uint64_t low = 0;
    uint64_t high = uint64_t{1} << 32;
    const int64_t other = table.draw(column, std::numeric_limits<uint32_t>::max());
    if (other != column) {
      while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (table.draw(column, static_cast<uint32_t>(middle)) == column) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
    }
    const double own = static_cast<double>(high) / kTwoTo32;
    result[static_cast<size_t>(column)] += own / static_cast<double>(table.size());
    result[static_cast<size_t>(other)] += (1 - own) / static_cast<double>(table.size());
  }
  return result;
}

void expect_proportional(const std::vector<double>& weights) {
  const AliasTable table(weights);
  double sum = 0;
  for (double weight : weights) sum += weight;
  const auto got = probabilities(table);
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(got[i], weights[i] / sum, 1e-9) << i;
    EXPECT_EQ(got[i] == 0, weights[i] == 0) << i;
  }
}

TEST(AliasTable, StandsForTheProbabilitiesOfTheWeights) {
  expect_proportional({1});
  expect_proportional({1, 1, 1});
  expect_proportional({1, 2, 3, 4, 5, 6});
  expect_proportional({0, 0, 5, 0});
  expect_proportional({1e-3, 1000, 1, 0, 7});
  expect_proportional({1e300, 2e300, 3e300});
  expect_proportional({1e-300, 2e-300, 0});
  std::vector<double> weights;
  for (int i = 0; i < 1000; ++i) weights.push_back(i % 7 == 0 ? 0 : std::pow(1.01, i));
  expect_proportional(weights);
  // Thirds are not exact: whatever rounding leaves over must not draw the record of weight 0.
  for (int n = 3; n < 60; ++n) {
    std::vector<double> thirds(static_cast<size_t>(n), 1.0 / 3);
    thirds[static_cast<size_t>(n) / 2] = 0;
    expect_proportional(thirds);
  }
}

TEST(AliasTable, RarestRecordCanStillBeDrawn) {
  const AliasTable table(std::vector<double>{1, 1e-30, 1});
  EXPECT_EQ(table.draw(1, 0), 1);
  EXPECT_NE(table.draw(1, 1), 1);
}

TEST(AliasTable, RefusesWhatIsNoDistribution) {
  EXPECT_ERROR(AliasTable({}), invalid_argument);
  EXPECT_ERROR(AliasTable(std::vector<double>{0, 0}), invalid_argument);
  EXPECT_ERROR(AliasTable(std::vector<double>{1, -1}), invalid_argument);
  EXPECT_ERROR(AliasTable(std::vector<double>{std::nan("")}), invalid_argument);
  EXPECT_ERROR(AliasTable(std::vector<double>{std::numeric_limits<double>::infinity()}),
               invalid_argument);
}

}  // namespace
}  // namespace ffkit
