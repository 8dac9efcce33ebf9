#include <ffkit/loader/permutation.h>

#include "test_prelude.h"

namespace ffkit {
namespace {

void expect_bijection(int64_t n, uint64_t key) {
  const Permutation permutation(n, key);
  std::vector<bool> seen(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t image = permutation(i);
    ASSERT_GE(image, 0) << "n " << n;
    ASSERT_LT(image, n) << "n " << n;
    ASSERT_FALSE(seen[static_cast<size_t>(image)]) << "n " << n << " i " << i;
    seen[static_cast<size_t>(image)] = true;
  }
}

TEST(Permutation, IsABijectionForSmallSizes) {
  for (int64_t n = 1; n <= 600; ++n) {
    for (uint64_t key : {0U, 1U, 77U}) expect_bijection(n, key);
  }
}

TEST(Permutation, IsABijectionAroundPowersOfTwoAndSquares) {
  for (int bits = 10; bits <= 20; ++bits) {
    const int64_t n = int64_t{1} << bits;
    for (int64_t size : {n - 1, n, n + 1}) expect_bijection(size, 5);
  }
  for (int64_t root : {99, 100, 511, 1000}) {
    for (int64_t size : {root * root - 1, root * root, root * root + 1, root * (root + 1)}) {
      expect_bijection(size, 6);
    }
  }
}

TEST(Permutation, StaysInRangeWithoutRepeatsForHugeSizes) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (int64_t n : {(int64_t{1} << 31) - 1, (int64_t{1} << 32) + 1, (int64_t{1} << 40) + 12345,
                    int64_t{1} << 60, (int64_t{1} << 60) + 1, kLargest}) {
    const Permutation permutation(n, 9);
    std::set<int64_t> images;
    int64_t in_first_half = 0;
    for (int64_t i = 0; i < 20000; ++i) {
      // From both ends and spread over the range.
      const int64_t position = i % 3 == 0 ? i : i % 3 == 1 ? n - 1 - i : n / 20000 * i + i;
      const int64_t image = permutation(position);
      ASSERT_GE(image, 0) << n;
      ASSERT_LT(image, n) << n;
      images.insert(image);
      in_first_half += image < n / 2 ? 1 : 0;
    }
    EXPECT_EQ(images.size(), 20000U) << n;
    // Six standard deviations of a fair coin.
    EXPECT_NEAR(static_cast<double>(in_first_half), 10000, 425) << n;
  }
}

// All orders of so few elements are about equally likely (p = 0.0001).
TEST(Permutation, TinySizesHaveAllOrders) {
  constexpr int kNumKeys = 12000;
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t key = 0; key < kNumKeys; ++key) {
    const Permutation permutation(5, key);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < 5; ++i) order.push_back(permutation(i));
    ++counts[order];
  }
  EXPECT_EQ(counts.size(), 120U);
  double chi_square = 0;
  for (const auto& [order, count] : counts) {
    chi_square += (count - kNumKeys / 120.0) * (count - kNumKeys / 120.0) / (kNumKeys / 120.0);
  }
  EXPECT_LT(chi_square, 184) << "119 expected";
}

TEST(Permutation, SpreadsNeighboursEvenly) {
  // Position i lands in each tenth of the range about equally often, and neighbours land apart.
  const int64_t n = 1000;
  std::vector<int> tenth(10);
  int64_t near = 0;
  for (uint64_t key = 0; key < 500; ++key) {
    const Permutation permutation(n, key);
    ++tenth[static_cast<size_t>(permutation(123) * 10 / n)];
    near += std::abs(permutation(123) - permutation(124)) <= 10 ? 1 : 0;
  }
  for (int count : tenth) EXPECT_NEAR(count, 50, 40);
  EXPECT_LT(near, 40);  // 10 expected
}

TEST(Permutation, DependsOnTheKey) {
  const Permutation a(1000, 1);
  const Permutation b(1000, 2);
  int64_t num_equal = 0;
  for (int64_t i = 0; i < 1000; ++i) num_equal += a(i) == b(i) ? 1 : 0;
  EXPECT_LT(num_equal, 10);
}

TEST(Permutation, IsTheSameInEveryRelease) {
  // Fixed for ever: a resumed run of an older release must go on with the same order.
  const Permutation permutation(1281167, 42);
  const std::vector<int64_t> expected = {491382, 392210, 1044769, 794160, 237224, 1099083};
  std::vector<int64_t> got;
  for (int64_t i = 0; i < 6; ++i) got.push_back(permutation(i));
  EXPECT_EQ(got, expected);
}

TEST(Permutation, RefusesToBeEmpty) {
  EXPECT_ERROR(Permutation(0, 1), invalid_argument);
}

}  // namespace
}  // namespace ffkit
