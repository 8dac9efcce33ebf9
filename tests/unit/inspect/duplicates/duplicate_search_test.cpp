#include "duplicates/duplicate_search.h"

#include <bit>

#include "duplicates/hash_file.h"
#include "make_dataset.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

DuplicateRecord of(int split, int64_t record, uint64_t hash, int64_t content) {
  return {.split = split, .record = record, .content = content, .hash = hash};
}

DuplicateGroup group_of_records(std::vector<DuplicateRecord> records) {
  const bool across = records.front().split != records.back().split;
  return {.records = std::move(records), .across = across};
}

// Split 0: a chain 0 - 1 - 2 whose ends differ in 8 bits, and 5 = 6, and 9 near to record 3 of
// split 1.
Duplicates chain_and_others() {
  return {{{.name = "a"}, {.name = "b"}},
          {group_of_records({of(0, 0, 0x00, 0), of(0, 1, 0x0F, 1), of(0, 2, 0xFF, 2)}),
           group_of_records({of(0, 5, 0xABC, 0), of(0, 6, 0xABC, 0)}),
           group_of_records({of(0, 9, 0x12345, 0), of(1, 3, 0x12344, 1)})},
          {},
          4};
}

TEST(Duplicates, GroupsAcrossSplitsComeFirstThenLargeOnes) {
  const Duplicates found = chain_and_others();
  ASSERT_EQ(found.groups().size(), 3);
  EXPECT_EQ(found.num_across(), 1);
  EXPECT_EQ(found.groups()[0].records[1].record, 3);
  EXPECT_EQ(found.groups()[1].records.size(), 3);
  EXPECT_EQ(found.group_of(0, 6), 2);
  EXPECT_EQ(found.group_of(1, 3), 0);
  EXPECT_EQ(found.group_of(1, 9), std::nullopt);
  EXPECT_EQ(found.group_of(0, 7), std::nullopt);
  EXPECT_EQ(found.splits()[0].num_also_in, (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(found.splits()[1].num_also_in, (std::vector<int64_t>{1, 0}));
}

TEST(Duplicates, OfAChainWhatIsNotNearToAKeptRecordStays) {
  const Duplicates found = chain_and_others();
  EXPECT_EQ(found.kept(0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
            (std::vector<int64_t>{0, 2, 3, 4, 5, 7, 8}));
  EXPECT_EQ(found.kept(1, {3, 2}), (std::vector<int64_t>{2}));
}

class DuplicateSearchTest : public ::testing::Test {
 protected:
  DuplicateSearchTest()
      : dataset_(testing::make_dataset(dir_.path() / "train",
                                       {.num_records = 1200, .undecodable = {3, 700}})) {}

  // Waits until the search has ended.
  static void wait_for(const DuplicateSearch& search) {
    while (search.state() == DuplicateSearch::State::running) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  testing::TempDir dir_;
  Dataset dataset_;
};

TEST_F(DuplicateSearchTest, FindsWhatARecordIsLike) {
  const Dataset some = dataset_.subset({5, 3, 7});
  const DuplicateOptions options{.hash_folder = dir_.path() / "hashes"};
  DuplicateSearch search({dataset_, some}, options);
  EXPECT_EQ(search.state(), DuplicateSearch::State::none);
  EXPECT_EQ(search.result(), nullptr);
  search.start();
  wait_for(search);
  ASSERT_EQ(search.state(), DuplicateSearch::State::done) << search.message();
  EXPECT_EQ(search.share_done(), 1);
  const auto found = search.result();
  EXPECT_EQ(found->splits()[0].counts.num_undecodable, 2);
  EXPECT_EQ(found->splits()[0].counts.problems.size(), 2);
  EXPECT_EQ(found->splits()[1].num_also_in[0], 3);
  for (const int64_t record : {3, 5, 7}) {
    ASSERT_TRUE(found->group_of(1, record));
    EXPECT_EQ(found->group_of(0, record), found->group_of(1, record));
  }
  EXPECT_EQ(found->splits()[0].counts.num_from_file, 0);
  search.start();  // it is done
  EXPECT_EQ(search.result(), found);
  DuplicateProgress progress;
  const Duplicates again = find_duplicates({dataset_}, options, progress);
  EXPECT_EQ(again.splits()[0].counts.num_from_file, dataset_.num_records());
}

TEST_F(DuplicateSearchTest, StopsAndBeginsAgain) {
  DuplicateSearch search({dataset_}, {.hash_folder = dir_.path() / "hashes"});
  search.start();
  search.stop();
  // It may have been done before.
  if (search.state() != DuplicateSearch::State::done) {
    EXPECT_EQ(search.state(), DuplicateSearch::State::none);
    search.start();
  }
  wait_for(search);
  EXPECT_EQ(search.state(), DuplicateSearch::State::done);
  DuplicateSearch dropped({dataset_}, {});
  dropped.start();  // and its destructor ends it
}

TEST_F(DuplicateSearchTest, EndsWithErrorCancelledWhenStopped) {
  DuplicateProgress progress;
  progress.on_done = [&](int64_t) { progress.stop = true; };
  try {
    find_duplicates({dataset_}, {.hash_folder = dir_.path() / "hashes"}, progress);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
}

TEST_F(DuplicateSearchTest, FailsWithASentence) {
  DuplicateSearch search({dataset_}, {.field = "depth"});
  search.start();
  wait_for(search);
  EXPECT_EQ(search.state(), DuplicateSearch::State::failed);
  EXPECT_NE(search.message().find("depth"), std::string::npos) << search.message();
}

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
