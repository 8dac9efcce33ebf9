#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include <ffkit/base/error.h>

#include "tasks/bevformer/loss/detection_loss.h"

namespace ffkit {
namespace {

double cost_of(const std::vector<double>& cost, int64_t columns,
               const std::vector<int64_t>& assignment) {
  double sum = 0;
  for (size_t i = 0; i < assignment.size(); ++i) {
    sum += cost[i * static_cast<size_t>(columns) + static_cast<size_t>(assignment[i])];
  }
  return sum;
}

// By trying all.
double least_cost(const std::vector<double>& cost, int64_t rows, int64_t columns) {
  std::vector<int64_t> order(static_cast<size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, cost_of(cost, columns, {order.begin(), order.begin() + rows}));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(LeastCostAssignment, IsTheBestOfAll) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> reals(-3, 3);
  std::uniform_int_distribution<int> small(0, 2);  // with many ties
  for (int round = 0; round < 200; ++round) {
    const int64_t columns = 1 + round % 6;
    const int64_t rows = round / 6 % (columns + 1);
    std::vector<double> cost(static_cast<size_t>(rows * columns));
    for (double& c : cost) c = round % 2 == 0 ? reals(random) : small(random);
    const std::vector<int64_t> assignment = least_cost_assignment(cost, rows, columns);
    const std::set<int64_t> different(assignment.begin(), assignment.end());
    EXPECT_EQ(different.size(), static_cast<size_t>(rows));
    EXPECT_NEAR(cost_of(cost, columns, assignment), least_cost(cost, rows, columns), 1e-12);
  }
}

TEST(LeastCostAssignment, TiesGoToTheFirstFreeColumn) {
  const std::vector<double> cost(3 * 5, 1.0);
  EXPECT_EQ(least_cost_assignment(cost, 3, 5), (std::vector<int64_t>{0, 1, 2}));
}

TEST(LeastCostAssignment, RefusesWhatHasNoAnswer) {
  EXPECT_THROW(least_cost_assignment(std::vector<double>(6), 3, 2), Error);
  EXPECT_THROW(least_cost_assignment(std::vector<double>{1, NAN}, 1, 2), Error);
  EXPECT_THROW(least_cost_assignment(std::vector<double>{1, INFINITY}, 1, 2), Error);
}

}  // namespace
}  // namespace ffkit
