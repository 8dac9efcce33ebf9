#include <ffkit/base/crc32c.h>
#include <ffkit/format/record.h>

#include "converter/output/split_writer.h"
#include "converter_prelude.h"
#include "plan/split_plan.h"

namespace ffkit {
namespace {

// Short texts that resemble one another, as dictionaries like them; some samples can be bad.
class TextSource : public Source {
 public:
  explicit TextSource(int64_t num_samples, std::vector<int64_t> bad = {})
      : splits_{{.name = "train", .num_samples = num_samples, .is_training = true}},
        bad_(std::move(bad)) {}

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return Schema{{{.name = "text", .type = FieldType::string}}}; }
  const std::vector<std::string>& classes() const override { return none_; }
  const std::vector<std::string>& class_names() const override { return none_; }
  std::map<std::string, std::string> facts(size_t) const override { return {}; }
  const std::vector<std::string>& notes() const override { return none_; }
  std::vector<std::filesystem::path> roots() const override { return {}; }
  int64_t sample_bytes(size_t, int64_t) const override { return 0; }
  std::string describe(size_t, int64_t index) const override { return fmt::format("#{}", index); }
  static std::string text(int64_t index) {
    return fmt::format(
        "{{\"sensor\": \"lidar-{}\", \"frame\": {}, \"weather\": \"{}\", \"points\": {}}}",
        index % 7, index * 7919, index % 3 == 0 ? "overcast" : "clear", index * index);
  }
  void read(size_t, int64_t index, RecordBuilder& record, SampleBuffers& buffers) const override {
    ++num_reads;
    if (std::ranges::find(bad_, index) != bad_.end()) {
      throw Error(ErrorCode::corrupt, "is bad", {.path = fmt::format("#{}", index)});
    }
    record.set_string(0, buffers.text(text(index)));
  }

  mutable std::atomic<int64_t> num_reads{0};

 private:
  std::vector<SourceSplit> splits_;
  std::vector<int64_t> bad_;
  std::vector<std::string> none_;
};

TEST(SplitCompression, WritesTheSameBytesForAnyNumberOfThreads) {
  const TextSource source(30'000);
  const TempDir dir;
  for (const int threads : {1, 3}) {
    convert(source, dir / std::to_string(threads),
            {.num_threads = threads,
             .shard_bytes = 1 << 20,
             .zstd_level = 3,
             .zstd_dictionary_bytes = 4096});
  }
  const Dataset dataset = Dataset::open(dir / "1", "train");
  ASSERT_GT(dataset.num_shards(), 1);
  for (const ManifestShard& shard : dataset.manifest().shards) {
    EXPECT_TRUE(testing::read_file(dir / "1/train" / shard.file) ==
                testing::read_file(dir / "3/train" / shard.file))
        << shard.file;
  }
  EXPECT_EQ(testing::read_file(dir / "1/train/manifest.json"),
            testing::read_file(dir / "3/train/manifest.json"));
}

TEST(SplitCompression, CompressesEveryShardWithTheSplitsDictionary) {
  const TextSource source(45'000);
  const TempDir dir;
  const ConvertOptions options{.shard_bytes = 1 << 20,
                               .order = Order::sequential,
                               .zstd_level = 3,
                               .zstd_dictionary_bytes = 4096};
  convert(source, dir / "out", options);
  const Dataset dataset = Dataset::open(dir / "out", "train");
  ASSERT_GT(dataset.num_shards(), 1);
  for (int64_t shard = 0; shard < dataset.num_shards(); ++shard) {
    EXPECT_GT(dataset.shard(shard).facts().dictionary_bytes, 256);
    EXPECT_LE(dataset.shard(shard).facts().dictionary_bytes, 4096);
  }
  EXPECT_LT(dataset.manifest().record_bytes(), dataset.manifest().raw_bytes() / 2);
  std::vector<std::byte> record;
  for (const int64_t i : {0, 1234, 44'999}) {
    EXPECT_EQ(dataset.locate(i).record.codec, Codec::zstd_dictionary);
    dataset.read(i, record);
    EXPECT_EQ(RecordView(dataset.schema(), record).string(0), TextSource::text(i));
  }
  EXPECT_EQ(dataset.manifest().options.at("zstd_level"), "3");
  EXPECT_EQ(dataset.manifest().options.at("zstd_dictionary_bytes"), "4096");
}

TEST(SplitCompression, HasTheLevelThatIsAskedFor) {
  const TextSource source(3000);
  const TempDir dir;
  const auto bytes_at = [&](int level) {
    const auto folder = dir / std::to_string(level);
    convert(source, folder, {.zstd_level = level, .zstd_dictionary_bytes = 4096});
    return Dataset::open(folder, "train").manifest().record_bytes();
  };
  EXPECT_LT(bytes_at(19), bytes_at(-7));
}

TEST(SplitCompression, TrainsOnTheFirstRecordsOnly) {
  const TextSource source(30'000);
  const ConvertOptions small{.zstd_level = 1, .zstd_dictionary_bytes = 256};
  EXPECT_FALSE(split_compression(source, 0, small).dictionary.empty());
  EXPECT_GT(source.num_reads, 100);
  EXPECT_LT(source.num_reads, 300);  // 25,600 bytes
  source.num_reads = 0;
  const ConvertOptions large{.zstd_level = 1, .zstd_dictionary_bytes = 64 << 10};
  const CompressionOptions compression = split_compression(source, 0, large);
  EXPECT_EQ(source.num_reads, 1000);
  // In the order in which they are written.
  ConvertOptions other_order = large;
  other_order.seed = 1;
  EXPECT_NE(split_compression(source, 0, other_order).dictionary, compression.dictionary);
}

TEST(SplitCompression, JudgesBadSamplesAsThePackerDoes) {
  const TextSource source(2000, {5, 3});
  const ConvertOptions options{
      .order = Order::sequential, .zstd_level = 1, .zstd_dictionary_bytes = 1024};
  EXPECT_ERROR(split_compression(source, 0, options), corrupt, .subject = sample);
  const TempDir dir;
  ConvertOptions skipping = options;
  skipping.bad_samples = BadSamples::skip;
  EXPECT_EQ(convert(source, dir / "out", skipping).num_skipped(), 2);
}

TEST(SplitCompression, GoesWithoutADictionaryWhereNoneCanBeTrained) {
  const TextSource source(3);
  const TempDir dir;
  std::vector<std::string> notes;
  convert(source, dir / "out",
          {.zstd_level = 1,
           .zstd_dictionary_bytes = 112 << 10,
           .note = [&](const std::string& note) { notes.push_back(note); }});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("split 'train' is compressed without a dictionary: cannot train a zstd "
                          "dictionary of 114688 bytes on 3 records"),
            std::string::npos)
      << notes[0];
  const Dataset dataset = Dataset::open(dir / "out", "train");
  EXPECT_EQ(dataset.num_records(), 3);
  EXPECT_EQ(dataset.shard(0).facts().dictionary_bytes, 0);
  EXPECT_EQ(dataset.manifest().options.at("zstd_dictionary_bytes"), "0");
}

TEST(SplitCompression, IsNotMentionedWhenOff) {
  const TextSource source(30);
  const TempDir dir;
  convert(source, dir / "out", {});
  const Dataset dataset = Dataset::open(dir / "out", "train");
  EXPECT_EQ(dataset.manifest().options.count("zstd_level"), 0U);
  EXPECT_EQ(dataset.locate(0).record.codec, Codec::none);
}

// Where the system gives no thread more, shards are closed by the one that waits for them.
TEST(SplitWriter, ClosesShardsWithoutAnotherThread) {
  const testing::TempDir dir;
  fs::permissions(dir.path(), fs::perms::all);  // for the child, who is another user
  const auto child = [&dir] {
    const testing::FakeSource source(3);
    const std::vector<SplitPlan> plans = plan_splits(source, {.num_threads = 1});
    testing::allow_no_more_threads();
    SplitWriter writer(source, plans.front(), dir / "train", dir / "train");
    writer.begin(0);
    const Schema schema = source.schema();
    RecordBuilder builder(schema);
    SampleBuffers buffers;
    std::vector<std::byte> record;
    for (int64_t i = 0; i < 3; ++i) {
      source.read(0, i, builder, buffers);
      builder.encode(record);
      writer.append(record, {.bytes = record, .crc32c = crc32c(record)}, "");
    }
    writer.end();
    const std::vector<ManifestShard> shards = writer.finish();
    testing::expect(shards.size() == 1 && shards[0].num_records == 3, "a shard of 3 records");
    testing::expect(fs::exists(dir / "train/shard-00000.ffr"), "it is there");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ffkit
