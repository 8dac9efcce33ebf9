#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "expect_error.h"
#include "sampling/record_orders.h"

namespace ffkit {
namespace {

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
