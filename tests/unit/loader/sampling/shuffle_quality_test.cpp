// Whether a shuffle looks like one drawn at random: the statistics a training run would notice.
// Each is compared with its value for a true shuffle and its spread; all seeds are fixed. Five
// standard deviations: one wrong alarm in two million, if seeds changed.
#include "loader_prelude.h"

namespace ffkit {
namespace {

constexpr double kMaxDeviation = 5;

std::vector<int64_t> epoch_order(int64_t n, uint64_t seed, int64_t epoch) {
  const Sampler sampler(n, n, {.tail = Tail::exact, .seed = seed});
  std::vector<int64_t> order;
  sampler.batch(epoch, 0, 0, order);
  return order;
}

// How far the table {rows of `row_of`} x {columns of `column_of`} of 0 .. n-1 is from independence,
// in standard deviations of Pearson's chi-square with fixed margins: mean (r-1)(c-1) n / (n-1),
// variance about 2 (r-1)(c-1).
template <typename Row, typename Column>
double table_deviation(int64_t n, int64_t num_rows, int64_t num_columns, const Row& row_of,
                       const Column& column_of) {
  std::vector<double> counts(static_cast<size_t>(num_rows * num_columns));
  std::vector<double> rows(static_cast<size_t>(num_rows));
  std::vector<double> columns(static_cast<size_t>(num_columns));
  for (int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(row_of(i));
    const auto column = static_cast<size_t>(column_of(i));
    ++counts[row * static_cast<size_t>(num_columns) + column];
    ++rows[row];
    ++columns[column];
  }
  double chi_square = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t column = 0; column < columns.size(); ++column) {
      const double expected = rows[row] * columns[column] / static_cast<double>(n);
      const double difference = counts[row * columns.size() + column] - expected;
      chi_square += difference * difference / expected;
    }
  }
  const auto freedom = static_cast<double>((num_rows - 1) * (num_columns - 1));
  const double mean = freedom * static_cast<double>(n) / static_cast<double>(n - 1);
  return (chi_square - mean) / std::sqrt(2 * freedom);
}

struct Sizes {
  int64_t num_records;
  int64_t num_classes;
  int64_t batch_size;
};

class ShuffleQuality : public ::testing::TestWithParam<Sizes> {};

// Records sorted by class: the classes in the batches of an epoch are spread as when drawn without
// replacement.
TEST_P(ShuffleQuality, BatchesOfSortedClassesAreMixedLikeByATrueShuffle) {
  const auto [n, num_classes, batch_size] = GetParam();
  const int64_t num_batches = (n - 1) / batch_size + 1;
  constexpr int kNumSeeds = 30;
  double sum = 0;
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const auto order = epoch_order(n, seed, 3);
    const double deviation = table_deviation(
        n, num_batches, num_classes, [b = batch_size](int64_t i) { return i / b; },
        [&, classes = num_classes, size = n](int64_t i) {
          return order[static_cast<size_t>(i)] * classes / size;
        });
    EXPECT_LT(std::abs(deviation), kMaxDeviation) << "seed " << seed;
    sum += deviation;
  }
  EXPECT_LT(std::abs(sum / std::sqrt(kNumSeeds)), kMaxDeviation) << "all seeds together";
}

// The step from one record to the next tells nothing, also not about the following step.
TEST_P(ShuffleQuality, StepsBetweenNeighboursAreEven) {
  const int64_t n = GetParam().num_records;
  constexpr int64_t kBins = 16;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto order = epoch_order(n, seed, 0);
    const auto step_bin = [&](int64_t i) {
      const auto at = [&](int64_t k) { return order[static_cast<size_t>(k % n)]; };
      return ((at(i + 1) - at(i) + n) % n) * kBins / n;
    };
    // Against the place of the first of them, and against the next step.
    for (int64_t distance : {1, 2}) {
      const double deviation = table_deviation(
          n, kBins, kBins, step_bin, [&](int64_t i) { return step_bin((i + distance) % n); });
      EXPECT_LT(std::abs(deviation), kMaxDeviation) << "seed " << seed << " distance " << distance;
    }
    EXPECT_LT(std::abs(table_deviation(n, kBins, kBins, step_bin,
                                       [&](int64_t i) { return i * kBins / n; })),
              kMaxDeviation)
        << "seed " << seed;
  }
}

// Two epochs, or seeds, have nothing to do with each other: neither in places, nor in records at
// the same position.
TEST_P(ShuffleQuality, EpochsAndSeedsAreIndependent) {
  const int64_t n = GetParam().num_records;
  constexpr int64_t kBins = 16;
  constexpr int kNumPairs = 40;
  int num_equal = 0;
  for (int pair = 0; pair < kNumPairs; ++pair) {
    const bool epochs = pair % 2 == 0;
    const auto a = epoch_order(n, 5, pair);
    const auto b = epochs ? epoch_order(n, 5, pair + 1)
                          : epoch_order(n, static_cast<uint64_t>(6 + pair), pair);
    const auto bin = [&](const std::vector<int64_t>& order) {
      return [&order, n](int64_t i) { return order[static_cast<size_t>(i)] * kBins / n; };
    };
    EXPECT_LT(std::abs(table_deviation(n, kBins, kBins, bin(a), bin(b))), kMaxDeviation) << pair;
    double covariance = 0;
    const double mean = static_cast<double>(n - 1) / 2;
    for (size_t i = 0; i < a.size(); ++i) {
      covariance += (static_cast<double>(a[i]) - mean) * (static_cast<double>(b[i]) - mean);
      num_equal += a[i] == b[i] ? 1 : 0;
    }
    const auto size = static_cast<double>(n);
    const double correlation = covariance / (size * (size * size - 1) / 12);
    EXPECT_LT(std::abs(correlation) * std::sqrt(size - 1), kMaxDeviation) << pair;
  }
  // Equal records at the same position: one a pair, by Poisson.
  EXPECT_NEAR(num_equal, kNumPairs, kMaxDeviation * std::sqrt(kNumPairs));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ShuffleQuality,
                         ::testing::Values(Sizes{1000, 10, 50}, Sizes{10007, 10, 64},
                                           Sizes{65535, 64, 128}, Sizes{65536, 64, 256},
                                           Sizes{65537, 100, 256}, Sizes{100000, 1000, 256}));

}  // namespace
}  // namespace ffkit
