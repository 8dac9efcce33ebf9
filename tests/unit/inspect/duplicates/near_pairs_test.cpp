#include "duplicates/near_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace ffkit {
namespace {

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

Pairs near_pairs(const std::vector<uint64_t>& hashes, int distance) {
  Pairs pairs;
  const std::atomic<bool> stop = false;
  find_near_pairs(
      hashes, distance,
      [&](uint32_t i, uint32_t j) {
        EXPECT_LT(i, j);
        pairs.emplace(i, j);
      },
      stop);
  return pairs;
}

Pairs compared_one_by_one(const std::vector<uint64_t>& hashes, int distance) {
  Pairs pairs;
  for (uint32_t i = 0; i < hashes.size(); ++i) {
    for (uint32_t j = i + 1; j < hashes.size(); ++j) {
      if (std::popcount(hashes[i] ^ hashes[j]) <= distance) pairs.emplace(i, j);
    }
  }
  return pairs;
}

// Hashes with a few bits turned of one before, so that there are pairs of every small distance.
std::vector<uint64_t> made_hashes(size_t count, uint64_t mask) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> hashes = {random() & mask};
  while (hashes.size() < count) {
    uint64_t hash = random() % 3 == 0 ? random() & mask : hashes[random() % hashes.size()];
    for (uint64_t k = random() % 20; k > 0; --k) hash ^= uint64_t{1} << random() % 64;
    hashes.push_back(hash);
  }
  std::ranges::sort(hashes);
  hashes.erase(std::ranges::unique(hashes).begin(), hashes.end());
  return hashes;
}

TEST(NearPairs, AreThoseOfAllComparisons) {
  // The second ones have nearly all bits alike, so that all are in few buckets.
  for (const uint64_t mask : {~uint64_t{0}, uint64_t{0xFF}}) {
    const std::vector<uint64_t> hashes = made_hashes(1500, mask);
    for (const int distance : {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16}) {
      const Pairs expected = compared_one_by_one(hashes, distance);
      EXPECT_EQ(near_pairs(hashes, distance), expected) << distance;
      EXPECT_TRUE(distance == 0 || !expected.empty());
    }
  }
}

TEST(NearPairs, OfFewHashes) {
  EXPECT_TRUE(near_pairs({}, 4).empty());
  EXPECT_TRUE(near_pairs({7}, 4).empty());
  EXPECT_EQ(near_pairs({0, 0xF, ~uint64_t{0}}, 4), (Pairs{{0, 1}}));
}

TEST(NearPairs, AreNotLookedForWhenStopped) {
  const std::vector<uint64_t> hashes = made_hashes(1500, ~uint64_t{0});
  const std::atomic<bool> stop = true;
  int64_t num_found = 0;
  find_near_pairs(
      hashes, 4, [&](uint32_t, uint32_t) { ++num_found; }, stop);
  EXPECT_EQ(num_found, 0);
}

}  // namespace
}  // namespace ffkit
