#include <ffkit/format/unfinished.h>

#include "format_prelude.h"

namespace ffkit {
namespace {

Manifest write_split(const std::filesystem::path& folder, const std::string& split,
                     int64_t num_records, size_t image_bytes = 5000) {
  std::filesystem::create_directories(folder);
  const Schema schema = image_classification_schema();
  DatasetWriter writer(
      folder / split,
      {.split = split, .schema = schema, .classes = {"cat", "dog"}, .options = {{"seed", "1"}}},
      {.shard_bytes = 1 << 20});
  RecordBuilder builder(schema);
  for (int64_t i = 0; i < num_records; ++i) {
    const std::vector<std::byte> image(image_bytes, static_cast<std::byte>(i));
    const std::string id = split + std::to_string(i);
    builder.set_bytes(0, image);
    builder.set_scalar<int64_t>(1, i % 2);
    builder.set_string(2, id);
    writer.append(testing::encoded(builder));
  }
  return writer.finish();
}

TEST(Dataset, TheFolderOfASplitIsThatSplitByItsNameToo) {
  const TempDir dir;
  write_split(dir.path(), "train", 4);
  EXPECT_EQ(Dataset::open(dir / "train", "train").num_records(), 4);
  EXPECT_TRUE(has_split(dir / "train", "train"));
  EXPECT_FALSE(has_split(dir / "train", "val"));
  EXPECT_ERROR(Dataset::open(dir / "train", "val"), not_found, .subject = split);
}

TEST(Dataset, RecordsRunThroughTheShards) {
  const TempDir dir;
  const Manifest written = write_split(dir.path(), "train", 700);
  ASSERT_GE(written.shards.size(), 4U);
  const Dataset dataset = Dataset::open(dir.path(), "train");
  EXPECT_EQ(dataset.num_records(), 700);
  EXPECT_EQ(dataset.num_shards(), static_cast<int64_t>(written.shards.size()));
  EXPECT_THAT(dataset.manifest().classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(dataset.manifest().fingerprint(), written.fingerprint());
  std::vector<std::byte> record;
  for (int64_t i = 0; i < 700; ++i) {
    dataset.read(i, record);
    EXPECT_EQ(RecordView(dataset.schema(), record).string(2), "train" + std::to_string(i));
    const auto where = dataset.locate(i);
    EXPECT_EQ(dataset.shard(where.shard_index).locate(where.local_index).offset,
              where.record.offset);
  }
  EXPECT_EQ(dataset.int_column("label").size(), 700U);
  EXPECT_EQ(dataset.string_column("id")[699], "train699");
  EXPECT_ERROR(dataset.locate(700), invalid_argument);
  EXPECT_ERROR(dataset.locate(-1), invalid_argument);
}

TEST(Dataset, ShardsHaveAboutTheWantedSize) {
  const TempDir dir;
  const Manifest written = write_split(dir.path(), "train", 700);
  for (size_t i = 0; i + 1 < written.shards.size(); ++i) {
    EXPECT_GE(written.shards[i].file_bytes, 1 << 20);
    EXPECT_LT(written.shards[i].file_bytes, (1 << 20) + 40000);
  }
}

TEST(Dataset, OpensASplitByItsOwnFolder) {
  const TempDir dir;
  write_split(dir.path(), "val", 3);
  EXPECT_EQ(Dataset::open(dir / "val").num_records(), 3);
}

TEST(Dataset, MissingThingsAreNamed) {
  const TempDir dir;
  EXPECT_ERROR(Dataset::open(dir / "none", "train"), not_found, .subject = dataset);
  EXPECT_ERROR(Dataset::open("s3:/bucket/set", "train"), invalid_argument);
  EXPECT_ERROR(Dataset::open("wasb://container/set", "train"), unsupported);
  EXPECT_ERROR(Dataset::open(dir.path(), "train"), not_found, .subject = dataset);
  write_split(dir.path(), "val", 3);
  write_split(dir.path(), "test", 3);
  EXPECT_ERROR(Dataset::open(dir.path(), "train"), not_found, .subject = split);
  std::filesystem::remove(dir / "val/shard-00000.ffr");
  EXPECT_ERROR(Dataset::open(dir.path(), "val"), not_found, .subject = shard);
}

TEST(Dataset, UnfinishedConversionIsRefused) {
  const TempDir dir;
  write_split(dir.path(), "train", 3);
  std::ofstream(dir / kUnfinishedMarker) << "";
  EXPECT_ERROR(Dataset::open(dir.path(), "train"), invalid_argument);
  EXPECT_ERROR(Dataset::open(dir / "train"), invalid_argument);
}

TEST(Dataset, AnotherShardUnderTheSameNameIsFound) {
  const TempDir dir;
  write_split(dir.path(), "train", 3);
  write_split(dir / "other", "train", 4);
  std::filesystem::copy_file(dir / "other/train/shard-00000.ffr", dir / "train/shard-00000.ffr",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_ERROR(Dataset::open(dir.path(), "train"), corrupt, .subject = shard);
}

TEST(DatasetWriter, NothingIsReadableBeforeFinish) {
  const TempDir dir;
  {
    DatasetWriter writer(dir / "train",
                         {.split = "train", .schema = image_classification_schema()});
    EXPECT_ERROR(Dataset::open(dir.path(), "train"), not_found, .subject = dataset);
    EXPECT_ERROR(writer.finish(), invalid_argument);
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "train/manifest.json"));
  write_split(dir.path(), "train", 1);
  EXPECT_ERROR(
      DatasetWriter(dir / "train", {.split = "train", .schema = image_classification_schema()}),
      invalid_argument);
}

TEST(DatasetWriter, ShardsOfOneSplitHaveDifferentUuids) {
  const TempDir dir;
  write_split(dir.path(), "train", 700);
  const Dataset dataset = Dataset::open(dir.path(), "train");
  EXPECT_NE(dataset.shard(0).facts().uuid, dataset.shard(1).facts().uuid);
  EXPECT_EQ(dataset.shard(0).facts().uuid[6] >> 4, 8);
}

// Appends records with labels `first` and up; their pictures fill a shard with three.
void append_records(DatasetWriter& writer, int64_t first, int64_t num_records) {
  const Schema schema = writer.schema();
  RecordBuilder builder(schema);
  std::vector<std::byte> record;
  const std::vector<std::byte> image(400'000, std::byte{7});
  for (int64_t i = first; i < first + num_records; ++i) {
    const std::string id = std::to_string(i);
    builder.set_bytes(0, image);
    builder.set_scalar<int64_t>(1, i);
    builder.set_string(2, id);
    builder.encode(record);
    EXPECT_EQ(writer.append(record), i);
  }
}

std::vector<std::string> shard_files(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const ManifestShard& shard : manifest.shards) names.push_back(shard.file);
  return names;
}

TEST(DatasetWriter, AppendsBehindWhatIsThere) {
  const TempDir dir;
  const Manifest before = write_split(dir.path(), "train", 3);
  const Dataset reader = Dataset::open(dir.path(), "train");
  DatasetWriter writer = DatasetWriter::append_to(dir / "train", {.shard_bytes = 1 << 20});
  EXPECT_EQ(writer.schema(), image_classification_schema());
  append_records(writer, 3, 4);
  // Until finish() nobody sees it.
  EXPECT_EQ(Dataset::open(dir.path(), "train").fingerprint(), before.fingerprint());
  const Manifest after = writer.finish();
  EXPECT_THAT(shard_files(after),
              ElementsAre("shard-00000.ffr", "shard-00001.ffr", "shard-00002.ffr"));
  EXPECT_EQ(after.shards[0].checksum, before.shards[0].checksum);
  const Dataset dataset = Dataset::open(dir.path(), "train");
  EXPECT_THAT(dataset.int_column("label"), ElementsAre(0, 1, 0, 3, 4, 5, 6));
  EXPECT_THAT(dataset.manifest().classes, ElementsAre("cat", "dog"));
  EXPECT_NE(dataset.fingerprint(), before.fingerprint());
  EXPECT_NE(dataset.shard(0).facts().uuid, dataset.shard(1).facts().uuid);
  EXPECT_EQ(reader.num_records(), 3);  // opened before
}

TEST(DatasetWriter, TakesBackAnUnfinishedAddition) {
  const TempDir dir;
  const Manifest before = write_split(dir.path(), "train", 3);
  {
    DatasetWriter writer = DatasetWriter::append_to(dir / "train", {.shard_bytes = 1 << 20});
    append_records(writer, 3, 4);
    EXPECT_TRUE(std::filesystem::exists(dir / "train/shard-00001.ffr"));
  }
  size_t num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir / "train")) {
    ++num_files;
    EXPECT_THAT(entry.path().filename().string(),
                ::testing::AnyOf("manifest.json", "shard-00000.ffr"));
  }
  EXPECT_EQ(num_files, 2U);
  EXPECT_EQ(Dataset::open(dir.path(), "train").fingerprint(), before.fingerprint());
}

TEST(DatasetWriter, SkipsShardsThatAKilledAdditionLeft) {
  const TempDir dir;
  write_split(dir.path(), "train", 3);
  std::ofstream(dir / "train/shard-00001.ffr") << "left behind";
  std::ofstream(dir / "train/shard-00002.ffr.tmp") << "half";
  DatasetWriter writer = DatasetWriter::append_to(dir / "train", {.shard_bytes = 1 << 20});
  append_records(writer, 3, 4);
  EXPECT_THAT(shard_files(writer.finish()),
              ElementsAre("shard-00000.ffr", "shard-00002.ffr", "shard-00003.ffr"));
  EXPECT_THAT(Dataset::open(dir.path(), "train").int_column("label"),
              ElementsAre(0, 1, 0, 3, 4, 5, 6));
  EXPECT_EQ(std::filesystem::file_size(dir / "train/shard-00001.ffr"), 11U);
}

TEST(DatasetWriter, AppendsOnlyToADataSet) {
  const TempDir dir;
  EXPECT_ERROR(DatasetWriter::append_to(dir / "none"), not_found);
  write_split(dir.path(), "train", 3);
  EXPECT_ERROR(DatasetWriter::append_to(dir / "train", {.shard_bytes = 5}), invalid_argument);
  // An addition of nothing changes nothing.
  const Manifest before = Dataset::open(dir / "train").manifest();
  EXPECT_EQ(DatasetWriter::append_to(dir / "train").finish().fingerprint(), before.fingerprint());
}

TEST(Manifest, EveryTruncationIsRefused) {
  const TempDir dir;
  write_split(dir.path(), "train", 3);
  const std::string text = testing::read_file(dir / "train/manifest.json");
  for (size_t size = 0; size + 2 < text.size(); size += 13) {
    std::ofstream(dir / "m.json") << text.substr(0, size);
    EXPECT_ERROR_CODE(read_manifest(dir / "m.json"), corrupt, .subject = dataset) << size;
  }
}

TEST(Manifest, HostileOrNewerOnesAreRefused) {
  const TempDir dir;
  write_split(dir.path(), "train", 3);
  const std::string text = testing::read_file(dir / "train/manifest.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    std::ofstream(dir / "m.json") << changed;
    return dir / "m.json";
  };
  EXPECT_ERROR(read_manifest(with("shard-00000.ffr", "../../x")), corrupt, .subject = dataset);
  EXPECT_ERROR(read_manifest(with("\"version\": 2", "\"version\": 3")), unsupported);
  EXPECT_ERROR(read_manifest(with("\"num_records\": 3", "\"num_records\": 4")), corrupt,
               .subject = dataset);
  EXPECT_ERROR(read_manifest(with("\"i64\"", "\"i65\"")), unsupported);
  EXPECT_ERROR(read_manifest(with("ffkit-dataset", "x")), corrupt, .subject = dataset);
}

// Nobody writes into it: opening it as files are opened would wait for ever.
TEST(Dataset, DoesNotWaitForAFifo) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo.ffr").c_str(), 0600), 0);
  EXPECT_ERROR(Dataset::open(dir / "fifo.ffr"), invalid_argument);
  EXPECT_ERROR(Dataset::open_files({dir / "fifo.ffr"}), invalid_argument);

  write_split(dir.path(), "train", 1);
  std::filesystem::remove(dir / "train/shard-00000.ffr");
  ASSERT_EQ(::mkfifo((dir / "train/shard-00000.ffr").c_str(), 0600), 0);
  EXPECT_ERROR(Dataset::open(dir / "train"), invalid_argument);
  std::filesystem::remove(dir / "train/manifest.json");
  ASSERT_EQ(::mkfifo((dir / "train/manifest.json").c_str(), 0600), 0);
  EXPECT_ERROR(Dataset::open(dir / "train"), invalid_argument);
}

TEST(Dataset, WithoutShardsIsOfTheNewestVersion) {
  const TempDir dir;
  write_manifest(dir / "manifest.json",
                 {.split = "train", .schema = image_classification_schema()});
  const Dataset dataset = Dataset::open(dir.path());
  EXPECT_EQ(dataset.format_version(), 2);
  EXPECT_EQ(dataset.num_records(), 0);
}

TEST(UnfinishedMarker, IsReadAsItIsWritten) {
  const UnfinishedMarker written{.kind = "merge", .plan = "p", .command = "cd / && ffconvert x"};
  const UnfinishedMarker read = parse_unfinished_marker(to_text(written));
  EXPECT_EQ(read.kind, "merge");
  EXPECT_EQ(read.plan, "p");
  EXPECT_EQ(read.command, "cd / && ffconvert x");
}

// The rest of it would be read as other members.
TEST(UnfinishedMarker, HasNoCommandOfSeveralLines) {
  for (const char* command : {"a\nplan q", "a\rb"}) {
    const UnfinishedMarker read =
        parse_unfinished_marker(to_text({.kind = "v1", .plan = "p", .command = command}));
    EXPECT_EQ(read.command, "");
    EXPECT_EQ(read.plan, "p");
  }
}

}  // namespace
}  // namespace ffkit
