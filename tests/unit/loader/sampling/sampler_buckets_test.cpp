// Batches of one bucket each.
#include <ffkit/loader/picture_sizes.h>

#include "loader_prelude.h"

namespace ffkit {
namespace {

// 103 records in buckets of 50, 0, 30, 3 and 20 records, mixed.
std::vector<int64_t> bucket_numbers() {
  std::vector<int64_t> numbers;
  for (const auto& [number, count] : {std::pair(7, 50), {1000, 30}, {8, 3}, {0, 20}}) {
    numbers.insert(numbers.end(), static_cast<size_t>(count), number);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::swap(numbers[i], numbers[(i * 37 + 11) % numbers.size()]);
  }
  return numbers;
}

SamplerOptions with_buckets(SamplerOptions options) {
  options.buckets = std::make_shared<const std::vector<int64_t>>(bucket_numbers());
  return options;
}

std::vector<int64_t> batch_of(const Sampler& sampler, int64_t epoch, int64_t start, int64_t step) {
  std::vector<int64_t> out;
  sampler.batch(epoch, start, step, out);
  return out;
}

// The batches of all ranks behind each other.
std::vector<std::vector<int64_t>> batches_of(int64_t batch_size, SamplerOptions options,
                                             int64_t epoch, int64_t start = 0) {
  std::vector<Sampler> ranks;
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    ranks.emplace_back(103, batch_size, options);
  }
  std::vector<std::vector<int64_t>> all;
  for (int64_t step = 0; step < ranks.front().num_batches(start); ++step) {
    for (const Sampler& rank : ranks) all.push_back(batch_of(rank, epoch, start, step));
  }
  return all;
}

TEST(SamplerBuckets, FullBatchesAreOfOneBucketAndTheRestComesLast) {
  const std::vector<int64_t> numbers = bucket_numbers();
  for (const int64_t epoch : {0, 1, 5}) {
    const auto batches = batches_of(8, with_buckets({.tail = Tail::exact}), epoch);
    ASSERT_EQ(batches.size(), 13U);
    std::vector<int64_t> seen;
    std::vector<int64_t> of_batch;
    for (size_t i = 0; i < batches.size(); ++i) {
      seen.insert(seen.end(), batches[i].begin(), batches[i].end());
      std::set<int64_t> buckets;
      for (const int64_t record : batches[i]) buckets.insert(numbers[record]);
      // 6, 3, 0 and 2 full batches; 2, 6, 3 and 4 records are left.
      if (i >= 11) continue;
      EXPECT_EQ(buckets.size(), 1U);
      of_batch.push_back(*buckets.begin());
    }
    EXPECT_FALSE(std::ranges::is_sorted(of_batch));
    std::ranges::sort(seen);
    std::vector<int64_t> all(103);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
  }
}

TEST(SamplerBuckets, EpochsDifferAndBeginAnywhere) {
  const SamplerOptions options = with_buckets({.tail = Tail::exact, .seed = 3});
  const auto epoch = batches_of(8, options, 0);
  EXPECT_NE(epoch, batches_of(8, options, 1));
  EXPECT_NE(epoch, batches_of(8, with_buckets({.tail = Tail::exact, .seed = 4}), 0));
  const auto rest = batches_of(8, options, 0, 40);
  EXPECT_EQ(rest, std::vector(epoch.begin() + 5, epoch.end()));
}

TEST(SamplerBuckets, RanksShareTheSameBatches) {
  const auto alone = batches_of(8, with_buckets({.tail = Tail::exact}), 2);
  const auto shared = batches_of(8, with_buckets({.tail = Tail::exact, .world_size = 4}), 2);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), shared.begin()));
}

TEST(SamplerBuckets, AreOneShuffleWhereThereIsOneBucket) {
  SamplerOptions options{.tail = Tail::exact};
  options.buckets = std::make_shared<const std::vector<int64_t>>(103, 5);
  std::vector<int64_t> seen;
  for (const auto& batch : batches_of(200, options, 0)) {
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  EXPECT_FALSE(std::ranges::is_sorted(seen));
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
  EXPECT_EQ(seen.size(), 103U);
}

TEST(SamplerBuckets, ReplacementsAreOfTheSameBucket) {
  const std::vector<int64_t> numbers = bucket_numbers();
  const Sampler sampler(103, 8, with_buckets({}));
  for (int64_t bad = 0; bad < 103; ++bad) {
    for (int attempt = 0; attempt < 5; ++attempt) {
      EXPECT_EQ(numbers[sampler.replacement(1, bad, attempt)], numbers[bad]);
    }
  }
}

TEST(SamplerBuckets, AStateKnowsThemAndTheBatchSize) {
  const Sampler sampler(103, 8, with_buckets({}));
  EXPECT_EQ(sampler.description(), Sampler(103, 8, with_buckets({.seed = 9})).description());
  EXPECT_NE(sampler.description(), Sampler(103, 9, with_buckets({})).description());
  EXPECT_NE(sampler.description(), Sampler(103, 8, {}).description());
}

TEST(SamplerBuckets, RefuseWhatDoesNotFit) {
  EXPECT_ERROR(Sampler(102, 8, with_buckets({})), invalid_argument);
  EXPECT_ERROR(Sampler(103, 8, with_buckets({.order = Order::sequential})), invalid_argument);
  SamplerOptions options = with_buckets({});
  options.groups = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0});
  EXPECT_ERROR(Sampler(103, 8, options), invalid_argument);
}

TEST(AspectRatioBuckets, AreTorchvisions) {
  // bisect_right([2 ** x for x in linspace(-1, 1, 2 * k + 1)], width / height)
  const std::vector<int64_t> widths = {100, 499, 500, 640, 480, 1000, 1001, 2000, 2001, 3};
  const std::vector<int64_t> heights = {1000, 1000, 1000, 480, 640, 1000, 1000, 1000, 1000, 3};
  EXPECT_THAT(aspect_ratio_buckets(widths, heights), ElementsAre(0, 0, 1, 5, 2, 4, 4, 7, 7, 4));
  EXPECT_THAT(aspect_ratio_buckets(widths, heights, 1), ElementsAre(0, 0, 1, 2, 1, 2, 2, 3, 3, 2));
  EXPECT_THAT(aspect_ratio_buckets(widths, heights, 0), ElementsAre(0, 0, 0, 1, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(aspect_ratio_buckets({}, {}), ElementsAre());
  EXPECT_ERROR(aspect_ratio_buckets(widths, std::vector<int64_t>{1}), invalid_argument);
  EXPECT_ERROR(aspect_ratio_buckets(widths, heights, -1), invalid_argument);
  EXPECT_ERROR(aspect_ratio_buckets(std::vector<int64_t>{0}, std::vector<int64_t>{1}),
               invalid_argument);
}

TEST(PictureSizes, AreThoseOfTheHeaders) {
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train", {.num_records = 300});
  const PictureSizes sizes = picture_sizes(dataset);
  ASSERT_EQ(sizes.widths.size(), 300U);
  for (int64_t i = 0; i < 300; ++i) EXPECT_EQ(sizes.widths[i], 48 + i % 5);
  EXPECT_THAT(sizes.heights, Each(40));
  EXPECT_ERROR(picture_sizes(dataset, "label"), invalid_argument);
}

TEST(PictureSizes, NameTheFirstBrokenPicture) {
  const testing::TempDir dir;
  const Dataset dataset =
      testing::make_dataset(dir / "train", {.num_records = 300, .undecodable = {250, 77}});
  EXPECT_ERROR(picture_sizes(dataset), unsupported, .record = 77);
}

}  // namespace
}  // namespace ffkit
