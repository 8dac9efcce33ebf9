// Conversions that end early and go on, that are shared among machines, or gather: the same bytes
// every time.
#include "converter_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kSamples = 8000;  // about 8 shards
const std::vector<int64_t> kBad = {5, 333, 334, 7999};

ConvertOptions options_of() {
  return {.num_threads = 2, .shard_bytes = 1 << 20, .seed = 3, .bad_samples = BadSamples::skip};
}

class ResumeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    convert(FakeSource(kSamples, kBad), dir_ / "undisturbed", options_of());
    expected_ = files_of(dir_ / "undisturbed");
    ASSERT_GT(expected_.size(), 7U);
    ASSERT_TRUE(expected_.contains("report.jsonl"));
  }

  // Converts until `num_reads` samples were read, then stops as a signal would.
  std::string stop_after(int64_t num_reads, ConvertOptions options) {
    FakeSource source(kSamples, kBad);
    std::atomic<bool> cancel{false};
    source.on_read = [&](int64_t) {
      if (source.num_reads > num_reads) cancel = true;
    };
    options.cancel = &cancel;
    try {
      convert(source, dir_ / "out", options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled);
      return error.what();
    }
    return "finished";
  }

  // What is in the destination is damaged, not a sample: to skip bad ones would be no help.
  void expect_that_only_a_new_start_helps(const ConvertOptions& options, const std::string& file) {
    try {
      convert(FakeSource(kSamples, kBad), dir_ / "out", options);
      FAIL() << "finished";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
      EXPECT_EQ(error.context().subject, ErrorSubject::destination);
      EXPECT_THAT(error.context().path, HasSubstr(file));
      EXPECT_EQ(with_option_names(error.context().remedy, OptionStyle::python),
                "run without resume=True to start over");
    }
  }

  TempDir dir_;
  std::map<std::string, std::string> expected_;
};

TEST_F(ResumeTest, GivesTheBytesOfAnUndisturbedRun) {
  for (const int64_t num_reads : {2500, 5000, 7900}) {
    EXPECT_THAT(stop_after(num_reads, options_of()),
                AllOf(HasSubstr("stopped on request"), HasSubstr("shards are finished"),
                      HasSubstr("run the conversion again with resume = true to continue")));
    EXPECT_ERROR(Dataset::open(dir_ / "out", "train"), invalid_argument);
    const FakeSource source(kSamples, kBad);
    ConvertOptions options = options_of();
    options.resume = true;
    options.num_threads = 3;
    const ConvertSummary summary = convert(source, dir_ / "out", options);
    EXPECT_TRUE(files_of(dir_ / "out") == expected_) << num_reads;
    EXPECT_EQ(summary.num_records(), kSamples - 4);
    EXPECT_EQ(summary.num_skipped(), 4);
    // Only what was not finished is read again; the plan looks at 32 samples.
    EXPECT_LT(source.num_reads, kSamples - num_reads + 2 * 1100 + 32);
    fs::remove_all(dir_ / "out");
  }
}

TEST_F(ResumeTest, StopsAndGoesOnAnyNumberOfTimes) {
  ConvertOptions options = options_of();
  options.resume = true;
  int num_stops = 0;
  while (stop_after(1800, options) != "finished") ASSERT_LT(++num_stops, 20);
  EXPECT_GT(num_stops, 2);
  EXPECT_TRUE(files_of(dir_ / "out") == expected_);
}

TEST_F(ResumeTest, StartsOverWithoutIt) {
  stop_after(5000, options_of());
  const FakeSource source(kSamples, kBad);
  convert(source, dir_ / "out", options_of());
  EXPECT_GE(source.num_reads, kSamples);
  EXPECT_TRUE(files_of(dir_ / "out") == expected_);
}

TEST_F(ResumeTest, LeavesNothingWhenNoShardIsFinished) {
  EXPECT_THAT(stop_after(100, options_of()),
              ::testing::Not(HasSubstr("run the conversion again with resume = true to continue")));
  EXPECT_FALSE(fs::exists(dir_ / "out"));
}

TEST_F(ResumeTest, RefusesAnotherConversionAndTouchesNothing) {
  stop_after(5000, options_of());
  const auto before = files_of(dir_ / "out");
  ConvertOptions options = options_of();
  options.resume = true;
  options.seed = 4;
  EXPECT_ERROR(convert(FakeSource(kSamples, kBad), dir_ / "out", options), invalid_argument,
               .subject = destination);
  EXPECT_ERROR(convert(FakeSource(kSamples + 1, kBad), dir_ / "out", options), invalid_argument,
               .subject = destination);
  EXPECT_TRUE(files_of(dir_ / "out") == before);
}

TEST_F(ResumeTest, RefusesAnotherWayWithBadSamples) {
  ConvertOptions options = options_of();
  stop_after(5000, options);
  options.resume = true;
  for (const BadSamples other : {BadSamples::keep, BadSamples::fail}) {
    options.bad_samples = other;
    EXPECT_ERROR(convert(FakeSource(kSamples, kBad), dir_ / "out", options), invalid_argument,
                 .subject = destination);
  }
}

TEST_F(ResumeTest, RefusesShardsWithoutTheirPlan) {
  stop_after(5000, options_of());
  testing::write_file(dir_ / "out" / kUnfinishedMarker, "");
  ConvertOptions options = options_of();
  options.resume = true;
  EXPECT_ERROR(convert(FakeSource(kSamples, kBad), dir_ / "out", options), invalid_argument,
               .subject = destination);
}

// Somebody has put another file in its place: of another conversion, or another shard of this one.
TEST_F(ResumeTest, RefusesShardsOfAnotherConversion) {
  stop_after(5000, options_of());
  const fs::path split = dir_ / "out/train";
  ConvertOptions options = options_of();
  options.seed = 4;
  convert(FakeSource(kSamples, kBad), dir_ / "other", options);
  options = options_of();
  options.resume = true;
  for (const fs::path& other : {dir_ / "other/train/shard-00000.ffr", split / "shard-00001.ffr"}) {
    fs::copy_file(other, split / "shard-00000.ffr", fs::copy_options::overwrite_existing);
    const auto before = files_of(dir_ / "out");
    EXPECT_ERROR(convert(FakeSource(kSamples, kBad), dir_ / "out", options), invalid_argument,
                 .subject = destination);
    EXPECT_TRUE(files_of(dir_ / "out") == before);
  }
}

TEST_F(ResumeTest, KeepsFinishedShardsWhenASampleIsBad) {
  ConvertOptions options = options_of();
  options.bad_samples = BadSamples::fail;
  options.order = Order::sequential;
  const std::vector<int64_t> bad = {6000};
  EXPECT_ERROR(convert(FakeSource(kSamples, bad), dir_ / "out", options), corrupt,
               .subject = sample);
  // The output is the same whether a bad sample would have stopped it or not.
  options.bad_samples = BadSamples::skip;
  options.resume = true;
  convert(FakeSource(kSamples, bad), dir_ / "out", options);
  options.resume = false;
  convert(FakeSource(kSamples, bad), dir_ / "at-once", options);
  EXPECT_TRUE(files_of(dir_ / "out") == files_of(dir_ / "at-once"));
}

TEST_F(ResumeTest, GatheringGivesTheSameBytes) {
  ConvertOptions options = options_of();
  options.read = ReadMode::gather;
  FakeSource source(kSamples, kBad);
  int64_t last = kSamples;
  int64_t num_backwards = 0;
  options.num_threads = 1;
  source.on_read = [&](int64_t index) {
    if (source.num_reads > 32) num_backwards += index > last ? 1 : 0;
    last = index;
  };
  convert(source, dir_ / "out", options);
  EXPECT_TRUE(files_of(dir_ / "out") == expected_);
  EXPECT_EQ(source.num_reads, kSamples + 32);
  EXPECT_LE(num_backwards, 1);  // front to back, which is last to first; once
}

TEST_F(ResumeTest, GatheringGivesTheSameBytesOfCompressedRecords) {
  ConvertOptions options = options_of();
  options.zstd_level = 1;
  convert(FakeSource(kSamples, kBad), dir_ / "direct", options);
  EXPECT_FALSE(files_of(dir_ / "direct") == expected_);
  options.read = ReadMode::gather;
  convert(FakeSource(kSamples, kBad), dir_ / "out", options);
  EXPECT_TRUE(files_of(dir_ / "out") == files_of(dir_ / "direct"));
}

TEST_F(ResumeTest, GatheringGoesOn) {
  ConvertOptions options = options_of();
  options.read = ReadMode::gather;
  // In the middle of the archive nothing is finished; what is gathered is removed.
  EXPECT_THAT(stop_after(5000, options),
              ::testing::Not(HasSubstr("run the conversion again with resume = true to continue")));
  EXPECT_FALSE(fs::exists(dir_ / "out"));

  // When all is gathered and some shards are written, the archive is not read again.
  std::atomic<bool> cancel{false};
  options.cancel = &cancel;
  const fs::path third = dir_ / "out/train/shard-00002.ffr";
  std::jthread watcher([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && !fs::exists(third)) std::this_thread::yield();
    cancel = true;
  });
  EXPECT_ERROR(convert(FakeSource(kSamples, kBad), dir_ / "out", options), cancelled);
  watcher.join();
  options.cancel = nullptr;
  options.resume = true;
  options.read = ReadMode::automatic;
  const FakeSource source(kSamples, kBad);
  convert(source, dir_ / "out", options);
  EXPECT_EQ(source.num_reads, 32);
  EXPECT_TRUE(files_of(dir_ / "out") == expected_);
}

TEST_F(ResumeTest, DamagedGatherFilesAreFound) {
  ConvertOptions options = options_of();
  options.read = ReadMode::gather;
  std::atomic<bool> cancel{false};
  options.cancel = &cancel;
  std::jthread watcher([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && !fs::exists(dir_ / "out/train/shard-00001.ffr")) {
      std::this_thread::yield();
    }
    cancel = true;
  });
  EXPECT_ERROR(convert(FakeSource(kSamples, kBad), dir_ / "out", options), cancelled);
  watcher.join();
  for (const auto& entry : fs::directory_iterator(dir_ / "out/train")) {
    if (!entry.path().string().ends_with("gather.tmp")) continue;
    std::string bytes = testing::read_file(entry.path());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    testing::write_file(entry.path(), bytes);
  }
  options.cancel = nullptr;
  options.resume = true;
  expect_that_only_a_new_start_helps(options, "gather.tmp");
}

TEST_F(ResumeTest, DamagedShardsAreFound) {
  ConvertOptions options = options_of();
  stop_after(5000, options);
  const fs::path shard = dir_ / "out/train/shard-00000.ffr";
  std::string bytes = testing::read_file(shard);
  bytes[bytes.size() - 10] = static_cast<char>(bytes[bytes.size() - 10] ^ 1);
  testing::write_file(shard, bytes);
  options.resume = true;
  expect_that_only_a_new_start_helps(options, "shard-00000.ffr");
}

TEST_F(ResumeTest, PartsMergeToWhatOneMachineMakes) {
  for (const int64_t count : {2, 3, 5}) {
    std::vector<fs::path> parts;
    for (int64_t index = 1; index <= count; ++index) {
      ConvertOptions options = options_of();
      options.part = {.index = index, .count = count};
      parts.push_back(dir_ / ("part-" + std::to_string(index)));
      const FakeSource source(kSamples, kBad);
      convert(source, parts.back(), options);
      EXPECT_LT(source.num_reads, kSamples / count + 1100 + 32);
    }
    std::swap(parts.front(), parts.back());  // in any order
    merge_datasets(dir_ / "merged", parts, {.transfer = ShardTransfer::copy});
    EXPECT_TRUE(files_of(dir_ / "merged") == expected_) << count << " parts";
    fs::remove_all(dir_ / "merged");
    const std::vector<fs::path> most(parts.begin() + 1, parts.end());
    EXPECT_ERROR(merge_datasets(dir_ / "merged", most, {}), invalid_argument);
    for (const fs::path& part : parts) fs::remove_all(part);
  }
}

TEST_F(ResumeTest, PartsOfDifferentConversionsAreNotMerged) {
  ConvertOptions options = options_of();
  options.part = {.index = 1, .count = 2};
  convert(FakeSource(kSamples, kBad), dir_ / "part-1", options);
  options.part = {.index = 2, .count = 2};
  options.seed = 9;
  convert(FakeSource(kSamples, kBad), dir_ / "part-2", options);
  EXPECT_ERROR(merge_datasets(dir_ / "merged", {dir_ / "part-1", dir_ / "part-2"}, {}),
               invalid_argument);
  convert(FakeSource(10), dir_ / "whole", {});
  EXPECT_ERROR(merge_datasets(dir_ / "merged", {dir_ / "part-1", dir_ / "whole"}, {}),
               invalid_argument);
}

TEST_F(ResumeTest, APartWithoutShardsIsRefused) {
  ConvertOptions options = options_of();
  options.part = {.index = 1, .count = 100};
  EXPECT_ERROR(convert(FakeSource(kSamples), dir_ / "out", options), invalid_argument);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
  EXPECT_THROW(parse_part("0/2"), Error);
  EXPECT_THROW(parse_part("3/2"), Error);
  EXPECT_THROW(parse_part("1"), Error);
  EXPECT_THROW(parse_part("1/2x"), Error);
  EXPECT_EQ(parse_part("2/8").index, 2);
  EXPECT_EQ(parse_part("2/8").count, 8);
}

TEST_F(ResumeTest, TheEstimateIsNearAndWritesNothing) {
  const FakeSource source(kSamples, kBad);
  const ConvertEstimate estimate = estimate_conversion(source, options_of());
  ASSERT_EQ(estimate.splits.size(), 1U);
  EXPECT_EQ(estimate.splits[0].num_samples, kSamples);
  const Dataset dataset = Dataset::open(dir_ / "undisturbed", "train");
  EXPECT_EQ(estimate.splits[0].num_shards, dataset.num_shards());
  EXPECT_NEAR(static_cast<double>(estimate.splits[0].file_bytes),
              static_cast<double>(dataset.manifest().file_bytes()),
              0.1 * static_cast<double>(dataset.manifest().file_bytes()));
  EXPECT_GT(estimate.seconds, 0);
}

}  // namespace
}  // namespace ffkit
