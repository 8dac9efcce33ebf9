#include "pack/packer.h"

#include "converter_prelude.h"
#include "plan/split_plan.h"

namespace ffkit {
namespace {

// Appends to one data set.
class DatasetSink : public PackSink {
 public:
  explicit DatasetSink(DatasetWriter& writer) : writer_(writer) {}
  void begin(int64_t) override {}
  void end() override {}
  void append(int64_t sample, EncodedSample& encoded) override {
    if (encoded.error) {
      skipped.push_back(fmt::format("{} {}", sample, encoded.error->what()));
    } else {
      writer_.append(encoded.record, encoded.stored);
    }
  }
  std::vector<std::string> skipped;

 private:
  DatasetWriter& writer_;
};

PackProgress pack(const Source& source, const std::filesystem::path& folder,
                  const ConvertOptions& options, std::vector<std::string>* skipped = nullptr,
                  const std::function<void(const PackProgress&)>& on_progress = {}) {
  DatasetWriter writer(folder, {.split = "train", .schema = source.schema()},
                       {.shard_bytes = 1 << 20});
  DatasetSink sink(writer);
  const std::vector<int64_t> order = record_order(source.splits()[0], options);
  const PackUnit all{.samples = order};
  const PackProgress result =
      pack_samples(source, 0, std::span(&all, 1), options, {}, sink, on_progress);
  writer.finish();
  if (skipped != nullptr) *skipped = sink.skipped;
  return result;
}

TEST(Order, IsTheSpecifiedShuffle) {
  // Computed from README.md, "Shuffle", by a program in another language.
  const SourceSplit split{.name = "train", .num_samples = 10, .is_training = true};
  EXPECT_THAT(record_order(split, {.seed = 0}), ElementsAre(4, 9, 2, 5, 1, 7, 6, 0, 3, 8));
  EXPECT_THAT(record_order(split, {.seed = 1}), ElementsAre(9, 0, 1, 4, 8, 2, 3, 7, 6, 5));
}

TEST(Order, IsAPermutation) {
  const SourceSplit split{.name = "train", .num_samples = 5000, .is_training = true};
  std::vector<int64_t> order = record_order(split, {.seed = 7});
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  for (int64_t i = 0; i < split.num_samples; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Order, IsTheSourcesForOtherSplitsAndOnRequest) {
  const SourceSplit val{.name = "val", .num_samples = 100};
  const SourceSplit train{.name = "train", .num_samples = 100, .is_training = true};
  EXPECT_TRUE(std::ranges::is_sorted(record_order(val, {})));
  EXPECT_TRUE(std::ranges::is_sorted(record_order(train, {.order = Order::sequential})));
}

TEST(Packer, WritesTheSameBytesForAnyNumberOfThreads) {
  const FakeSource source(3000);
  const TempDir dir;
  pack(source, dir / "one", {.num_threads = 1});
  const auto expected = files_of(dir / "one");
  EXPECT_GT(expected.size(), 3U);  // several shards and the manifest
  for (const int threads : {2, 4, 0}) {
    const auto folder = dir / std::to_string(threads);
    pack(source, folder, {.num_threads = threads});
    EXPECT_TRUE(files_of(folder) == expected) << threads << " threads";
  }
}

TEST(Packer, WritesEverySampleOnceInTheOrderAskedFor) {
  const FakeSource source(500);
  const TempDir dir;
  const ConvertOptions options{.num_threads = 3, .seed = 5};
  const PackProgress result = pack(source, dir / "out", options);
  EXPECT_EQ(result.num_done, 500);
  const Dataset dataset = Dataset::open(dir / "out");
  EXPECT_EQ(dataset.int_column("label"), record_order(source.splits()[0], options));
  std::vector<std::byte> record;
  dataset.read(123, record);
  const Schema schema = dataset.schema();
  const RecordView view(schema, record);
  const auto label = view.scalar<int64_t>(1);
  EXPECT_EQ(view.string(2), source.describe(0, label));
  EXPECT_EQ(view.bytes(0).size(), static_cast<size_t>(source.sample_bytes(0, label)));
  EXPECT_EQ(view.bytes(0).back(), static_cast<std::byte>(label));
}

TEST(Packer, FailsWithTheFirstBadSampleInRecordOrder) {
  const FakeSource source(1000, {900, 333, 334});
  for (const int threads : {1, 2, 4}) {
    const TempDir dir;
    const ConvertOptions options{.num_threads = threads, .order = Order::sequential};
    EXPECT_ERROR(pack(source, dir / "out", options), corrupt, .subject = sample);
    EXPECT_FALSE(std::filesystem::exists(dir / "out" / "manifest.json"));
  }
}

TEST(Packer, SkipsBadSamplesAndNamesThemInOrder) {
  const FakeSource source(1000, {900, 333, 0});
  const TempDir dir;
  std::vector<std::string> skipped;
  const PackProgress result = pack(
      source, dir / "out",
      {.num_threads = 4, .order = Order::sequential, .bad_samples = BadSamples::skip}, &skipped);
  EXPECT_EQ(result.num_done, 1000);
  EXPECT_EQ(result.num_skipped, 3);
  EXPECT_THAT(skipped, ElementsAre("0 sample-0: is bad", "333 sample-333: is bad",
                                   "900 sample-900: is bad"));
  const auto labels = Dataset::open(dir / "out").int_column("label");
  EXPECT_EQ(labels.size(), 997U);
  EXPECT_EQ(labels[0], 1);
  EXPECT_EQ(labels[332], 334);
}

TEST(Packer, StopsWhenCancelled) {
  const FakeSource source(100'000);
  const TempDir dir;
  std::atomic<bool> cancel{false};
  ConvertOptions options{.num_threads = 2, .bad_samples = BadSamples::skip, .cancel = &cancel};
  try {
    pack(source, dir / "out", options, nullptr, [&](const PackProgress& progress) {
      if (progress.num_done > 500) cancel = true;
    });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
  EXPECT_LT(source.num_reads, 5000);
}

TEST(Packer, KeepsFewSamplesInMemory) {
  const FakeSource source(20'000);
  const TempDir dir;
  int64_t most_in_flight = 0;
  int64_t last_done = 0;
  pack(source, dir / "out", {.num_threads = 4}, nullptr, [&](const PackProgress& progress) {
    most_in_flight = std::max(most_in_flight, source.num_reads - last_done);
    last_done = progress.num_done;
    std::this_thread::sleep_for(std::chrono::microseconds(50));  // a slow disk
  });
  EXPECT_EQ(last_done, 20'000);
  EXPECT_LE(most_in_flight, 2 * 4 * 16);
}

TEST(Packer, RefusesOptionsOutOfRange) {
  EXPECT_THROW(validate(ConvertOptions{.num_threads = -1}), Error);
  EXPECT_THROW(validate(ConvertOptions{.num_threads = 1025}), Error);
  EXPECT_THROW(validate(ConvertOptions{.shard_bytes = 1000}), Error);
  EXPECT_THROW(validate(ConvertOptions{.max_bytes_in_flight = 1}), Error);
  EXPECT_THROW(validate(ConvertOptions{.zstd_level = 23}), Error);
  EXPECT_THROW(validate(ConvertOptions{.zstd_dictionary_bytes = 4096}), Error);  // without a level
  EXPECT_THROW(validate(ConvertOptions{.zstd_level = 3, .zstd_dictionary_bytes = 255}), Error);
  EXPECT_NO_THROW(validate(ConvertOptions{.zstd_level = -7, .zstd_dictionary_bytes = 256}));
  EXPECT_THROW(from_name<Order>("random"), Error);
  EXPECT_THROW(from_name<BadSamples>("ignore"), Error);
  EXPECT_EQ(from_name<Order>(to_string(Order::sequential)), Order::sequential);
  EXPECT_EQ(from_name<BadSamples>(to_string(BadSamples::skip)), BadSamples::skip);
}

TEST(SampleBuffers, KeepTheirContentUntilCleared) {
  SampleBuffers buffers;
  const std::string_view first = buffers.text("first");
  const auto second = buffers.bytes(3 << 20);
  std::ranges::fill(second, std::byte{7});
  EXPECT_EQ(first, "first");
  buffers.clear();
  EXPECT_EQ(buffers.text("again"), "again");
}

}  // namespace
}  // namespace ffkit
