// The files in tests/golden/: what releases have written must stay readable, and be written alike.
#include "format_prelude.h"
#include "random_records.h"

namespace ffkit {
namespace {

using testing::encode;
using testing::Random;
using testing::RandomRecord;

constexpr size_t kNumRecords = 12;

Schema golden_schema() {
  return Schema{{
      {.name = "blob", .type = FieldType::bytes},
      {.name = "name", .type = FieldType::string, .column = true},
      {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
      {.name = "time", .type = FieldType::scalar, .dtype = DType::f64, .column = true},
      {.name = "half", .type = FieldType::scalar, .dtype = DType::f16},
      {.name = "cam_front/image", .type = FieldType::image},
      {.name = "points", .type = FieldType::tensor, .dtype = DType::f32},
      {.name = "captions", .type = FieldType::list, .item = FieldType::string},
      {.name = "masks", .type = FieldType::list, .dtype = DType::u8, .item = FieldType::tensor},
  }};
}

std::vector<RandomRecord> golden_records() {
  Random random(2026);
  std::vector<RandomRecord> records;
  for (size_t i = 0; i < kNumRecords; ++i)
    records.push_back(random_record(golden_schema(), random, 700));
  return records;
}

void write_every_type(const fs::path& path) {
  ShardWriter writer(path, golden_schema(), {.alignment = 512, .uuid = {0x67, 0x6F, 0x6C, 0x64}});
  for (const RandomRecord& record : golden_records())
    writer.append(encode(golden_schema(), record));
  writer.finish();
}

void write_zstd(const fs::path& path) {
  Random random(7);
  std::vector<std::vector<std::byte>> samples;
  for (int i = 0; i < 500; ++i) {
    samples.push_back(encode(golden_schema(), random_record(golden_schema(), random, 700)));
  }
  const CompressionOptions with{.level = 5, .dictionary = train_dictionary(samples, 1024)};
  RecordCompressor compressors[] = {RecordCompressor({.level = 5}), RecordCompressor(with)};
  ShardWriter writer(path, golden_schema(), {.alignment = 512, .compression = with});
  const auto records = golden_records();
  for (size_t i = 0; i < kNumRecords; ++i) {
    const auto bytes = encode(golden_schema(), records[i]);
    writer.append(bytes, compressors[i % 2].compress(bytes));
  }
  writer.finish();
}

void write_dataset(const fs::path& folder) {
  DatasetWriter writer(folder,
                       {.split = "train",
                        .schema = golden_schema(),
                        .classes = {"n01440764", "n01443537"},
                        .class_names = {"tench", "goldfish"},
                        .source = {{"kind", "golden"}},
                        .options = {{"seed", "0"}},
                        .created_by = "golden"},
                       {.alignment = 512});
  const auto records = golden_records();
  for (size_t i = 0; i < 5; ++i) writer.append(encode(golden_schema(), records[i]));
  writer.finish();
  DatasetWriter more = DatasetWriter::append_to(folder, {.alignment = 512});
  for (size_t i = 5; i < kNumRecords; ++i) more.append(encode(golden_schema(), records[i]));
  more.finish();
}

fs::path golden(const char* name) {
  return fs::path(FFKIT_GOLDEN_FOLDER) / "v2.1" / name;
}

void expect_golden_records(const Dataset& dataset) {
  const auto records = golden_records();
  ASSERT_EQ(dataset.num_records(), static_cast<int64_t>(kNumRecords));
  EXPECT_EQ(dataset.schema(), golden_schema());
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < kNumRecords; ++i) {
    dataset.read(static_cast<int64_t>(i), bytes);
    testing::expect_record(golden_schema(), bytes, records[i]);
  }
  const auto labels = dataset.int_column("label");
  for (size_t i = 0; i < kNumRecords; ++i) {
    EXPECT_EQ(labels[i], records[i][2].is_null ? 0 : static_cast<int64_t>(records[i][2].scalar));
  }
  for (int64_t s = 0; s < dataset.num_shards(); ++s) EXPECT_TRUE(dataset.shard(s).verify().empty());
}

TEST(Golden, EveryTypeIsReadAndWrittenAlike) {
  expect_golden_records(Dataset::open(golden("every_type.ffr")));
  const testing::TempDir dir;
  write_every_type(dir / "now.ffr");
  EXPECT_TRUE(testing::read_file(dir / "now.ffr") == testing::read_file(golden("every_type.ffr")))
      << "the layout has changed";
}

TEST(Golden, CompressedRecordsAreRead) {
  const Dataset dataset = Dataset::open(golden("zstd.ffr"));
  expect_golden_records(dataset);
  int num_compressed[2] = {0, 0};
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    const Codec codec = dataset.locate(i).record.codec;
    if (codec != Codec::none) ++num_compressed[codec == Codec::zstd ? 0 : 1];
  }
  EXPECT_GT(num_compressed[0], 0);
  EXPECT_GT(num_compressed[1], 0);
}

TEST(Golden, DatasetIsReadAndWrittenAlike) {
  const Dataset dataset = Dataset::open(golden("dataset"));
  expect_golden_records(dataset);
  EXPECT_EQ(dataset.num_shards(), 2);
  EXPECT_THAT(dataset.manifest().class_names, ElementsAre("tench", "goldfish"));
  const testing::TempDir dir;
  write_dataset(dir / "now");
  for (const char* name : {"shard-00000.ffr", "shard-00001.ffr", "manifest.json"}) {
    EXPECT_TRUE(testing::read_file(dir / "now" / name) ==
                testing::read_file(golden("dataset") / name))
        << name << " has changed";
  }
}

TEST(Golden, WritesThePresentVersionWhenAsked) {
  const char* folder = std::getenv("FFKIT_WRITE_GOLDEN");
  if (folder == nullptr) GTEST_SKIP() << "FFKIT_WRITE_GOLDEN does not name a folder";
  write_every_type(fs::path(folder) / "every_type.ffr");
  write_zstd(fs::path(folder) / "zstd.ffr");
  write_dataset(fs::path(folder) / "dataset");
}

}  // namespace
}  // namespace ffkit
