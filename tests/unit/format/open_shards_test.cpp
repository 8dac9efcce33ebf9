// Shards that are opened when they are needed (reader/open_shards.h).
#include "format_prelude.h"

namespace ffkit {
namespace {

// How many files of `folder` this process has open.
int64_t num_open(const fs::path& folder) {
  int64_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const fs::path target = fs::read_symlink(entry.path(), gone);
    count += target.string().starts_with(folder.string() + "/") ? 1 : 0;
  }
  return count;
}

// Records of a text and a label, spread evenly over the shards.
Dataset make_split(const fs::path& folder, int64_t num_records, int64_t num_shards) {
  fs::create_directory(folder);
  Manifest manifest{.split = "train", .created_by = "test"};
  manifest.schema.fields = {
      {.name = "id", .type = FieldType::string, .column = true},
      {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true}};
  int64_t next = 0;
  for (int64_t shard = 0; shard < num_shards; ++shard) {
    const std::string file = fmt::format("shard-{:05}.ffr", shard);
    ShardWriterOptions options;
    options.uuid[0] = static_cast<uint8_t>(shard + 1);
    ShardWriter writer(folder / file, manifest.schema, options);
    for (; next < num_records * (shard + 1) / num_shards; ++next) {
      RecordBuilder builder(manifest.schema);
      const std::string id = fmt::format("record {}", next);
      builder.set_string(0, id);
      builder.set_scalar<int64_t>(1, next * 7 % 1000);
      writer.append(testing::encoded(builder));
    }
    manifest.shards.push_back({writer.finish(), file});
  }
  write_manifest(folder / "manifest.json", manifest);
  return Dataset::open(folder);
}

class OpenShardsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kRecords = 60;
  static constexpr int64_t kShards = 20;

  Dataset open(ShardReaderOptions options) const {
    return Dataset::open(dir_ / "train", "", options);
  }

  testing::TempDir dir_;
  const Dataset all_ = make_split(dir_ / "train", kRecords, kShards);
  const fs::path middle_ = all_.shard(7).path();
};

TEST_F(OpenShardsTest, AreOpenedWhenTheyAreNeededAndNoMoreThanAllowed) {
  const int64_t before = num_open(dir_.path());
  EXPECT_EQ(before, kShards);  // few: all stay open
  const Dataset few = open({.max_open_shards = 4});
  EXPECT_EQ(num_open(dir_.path()), before);
  EXPECT_FALSE(few.shard(0).is_kept_open());
  EXPECT_TRUE(all_.shard(0).is_kept_open());
  std::vector<std::byte> record;
  std::vector<std::byte> expected;
  for (const int64_t step : {1, 7, 13}) {  // in order, and from shard to shard
    for (int64_t i = 0; i < kRecords; ++i) {
      few.read(i * step % kRecords, record);
      all_.read(i * step % kRecords, expected);
      ASSERT_EQ(record, expected);
      ASSERT_LE(num_open(dir_.path()), before + 4);
    }
  }
  EXPECT_EQ(num_open(dir_.path()), before + 4);
}

TEST_F(OpenShardsTest, AreTheSameDataset) {
  const Dataset few = open({.max_open_shards = 2});
  EXPECT_EQ(few.fingerprint(), all_.fingerprint());
  EXPECT_EQ(few.num_records(), kRecords);
  EXPECT_EQ(few.format_version(), 2);
  EXPECT_EQ(few.int_column("label"), all_.int_column("label"));
  EXPECT_EQ(few.string_column("id"), all_.string_column("id"));
  EXPECT_EQ(few.where(parse_filter("label < 300")).num_records(),
            all_.where(parse_filter("label < 300")).num_records());
  const Dataset both = Dataset::chain({few, all_});
  std::vector<std::byte> record;
  std::vector<std::byte> expected;
  both.read(17, record);
  both.read(17 + kRecords, expected);
  EXPECT_EQ(record, expected);
  EXPECT_EQ(few.shard(3).facts().uuid, all_.shard(3).facts().uuid);
  EXPECT_EQ(few.shard(3).summary().file_bytes, all_.shard(3).facts().file_bytes);
  EXPECT_TRUE(few.shard(3).verify().empty());
}

TEST_F(OpenShardsTest, OfAListOfFilesToo) {
  std::vector<fs::path> paths;
  for (int64_t i = 0; i < kShards; ++i) paths.push_back(all_.shard(i).path());
  const Dataset few = Dataset::open_files(paths, {.max_open_shards = 3});
  EXPECT_EQ(few.fingerprint(), all_.fingerprint());
  EXPECT_EQ(num_open(dir_.path()), kShards);
  EXPECT_EQ(few.int_column("label"), all_.int_column("label"));
  EXPECT_EQ(num_open(dir_.path()), kShards + 3);
}

TEST_F(OpenShardsTest, AnOpenFileStaysOpenAsLongAsItIsUsed) {
  const Dataset few = open({.max_open_shards = 1});
  const ShardReader::OpenFile first = few.shard(0).open_file();
  for (int64_t i = 1; i < 5; ++i) EXPECT_GE(few.shard(i).open_file().descriptor, 0);
  EXPECT_EQ(num_open(dir_.path()), kShards + 2);  // the first, and the last used
  EXPECT_TRUE(
      fs::equivalent(few.shard(0).path(), "/proc/self/fd/" + std::to_string(first.descriptor)));
}

TEST_F(OpenShardsTest, AMissingOneIsNamedWhenItIsReached) {
  fs::remove(middle_);
  const Dataset few = open({.max_open_shards = 4});
  std::vector<std::byte> record;
  few.read(0, record);
  const int64_t in_middle = 7 * kRecords / kShards;
  few.shard(7).will_locate(0);  // a hint says nothing
  EXPECT_ERROR(few.read(in_middle, record), not_found, .path = middle_.string(), .subject = shard);
  EXPECT_ERROR(static_cast<void>(few.shard(7).facts()), not_found, .path = middle_.string(),
               .subject = shard);
  EXPECT_ERROR(static_cast<void>(few.int_column("label")), not_found, .path = middle_.string(),
               .subject = shard);
  few.read(kRecords - 1, record);
}

TEST_F(OpenShardsTest, AMissingOneIsNamedAtOnceWhereThatIsAskedFor) {
  fs::remove(middle_);
  EXPECT_ERROR(open({.max_open_shards = 4, .check_shards = ShardCheck::at_once}), not_found,
               .path = middle_.string(), .subject = shard);
  EXPECT_ERROR(open({}), not_found, .path = middle_.string(), .subject = shard);
  std::vector<std::byte> record;
  open({.check_shards = ShardCheck::as_needed}).read(0, record);
}

TEST_F(OpenShardsTest, AnotherOneIsNamedWhenItIsReached) {
  fs::copy_file(all_.shard(8).path(), middle_, fs::copy_options::overwrite_existing);
  const Dataset few = open({.max_open_shards = 4});
  std::vector<std::byte> record;
  EXPECT_ERROR(few.read(7 * kRecords / kShards, record), corrupt, .path = middle_.string(),
               .subject = shard);
}

TEST_F(OpenShardsTest, ManyThreadsReadThroughOneThatMayBeOpen) {
  const Dataset few = open({.max_open_shards = 1});
  std::vector<std::vector<std::byte>> expected(kRecords);
  for (int64_t i = 0; i < kRecords; ++i) all_.read(i, expected[static_cast<size_t>(i)]);
  std::vector<std::thread> threads;
  std::atomic<int64_t> num_wrong{0};
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::byte> record;
      for (int64_t i = 0; i < 4 * kRecords; ++i) {
        const int64_t index = (i * 7 + t * 13) % kRecords;
        few.will_locate(index);
        few.read(index, record);
        num_wrong += record == expected[static_cast<size_t>(index)] ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
  EXPECT_EQ(num_open(dir_.path()), kShards + 1);
}

}  // namespace
}  // namespace ffkit
