#include <ffkit/base/crc32c.h>
#include <ffkit/format/shard_reader.h>

#include "format_prelude.h"
#include "shard/shard_layout.h"

namespace ffkit {
namespace {

std::vector<std::byte> make_record(const Schema& schema, int64_t i, size_t image_bytes) {
  std::mt19937 random(static_cast<uint32_t>(i));
  std::vector<std::byte> image(image_bytes);
  for (auto& byte : image) byte = static_cast<std::byte>(random());
  const std::string id = "sample-" + std::to_string(i);
  RecordBuilder builder(schema);
  builder.set_bytes(0, image);
  builder.set_scalar<int64_t>(1, i % 10);
  builder.set_string(2, id);
  return testing::encoded(builder);
}

// Sizes on both sides of every multiple of the alignment that matters.
size_t image_bytes_of(int64_t i) {
  constexpr size_t kSizes[] = {0,    1,    100,  900,  3000, 4000, 4040, 4041,
                               4042, 4048, 4056, 5000, 8150, 8192, 20000};
  return kSizes[static_cast<size_t>(i) % std::size(kSizes)];
}

ShardSummary write_shard(const std::filesystem::path& path, int64_t num_records,
                         uint32_t alignment = 4096) {
  const Schema schema = image_classification_schema();
  ShardWriter writer(path, schema, {.alignment = alignment, .uuid = {1, 2, 3}});
  for (int64_t i = 0; i < num_records; ++i)
    writer.append(make_record(schema, i, image_bytes_of(i)));
  return writer.finish();
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

class ShardAlignment : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(All, ShardAlignment, ::testing::Values(512, 4096, 65536));

TEST_P(ShardAlignment, RecordsComeBackWhole) {
  const TempDir dir;
  const int64_t n = 500;
  const ShardSummary summary = write_shard(dir / "a.ffr", n, GetParam());
  const ShardReader reader(dir / "a.ffr");
  EXPECT_EQ(reader.num_records(), n);
  EXPECT_EQ(reader.facts().alignment, GetParam());
  EXPECT_EQ(reader.facts().file_bytes, summary.file_bytes);
  EXPECT_EQ(static_cast<uintmax_t>(reader.facts().file_bytes),
            std::filesystem::file_size(dir / "a.ffr"));
  EXPECT_EQ(reader.schema(), image_classification_schema());
  EXPECT_EQ(reader.facts().uuid[2], 3);
  std::vector<std::byte> record;
  for (int64_t i = n - 1; i >= 0; --i) {
    reader.read(i, record);
    EXPECT_EQ(record, make_record(reader.schema(), i, image_bytes_of(i))) << i;
  }
  EXPECT_TRUE(reader.verify().empty());
}

TEST_P(ShardAlignment, RecordsTouchTheFewestPages) {
  const TempDir dir;
  write_shard(dir / "a.ffr", 200, GetParam());
  const ShardReader reader(dir / "a.ffr");
  const int64_t alignment = GetParam();
  int64_t previous_end = kHeaderBytes;
  for (int64_t i = 0; i < reader.num_records(); ++i) {
    const RecordLocation where = reader.locate(i);
    ASSERT_GE(where.offset, previous_end);
    const int64_t first_page = where.offset / alignment;
    const int64_t last_page = (where.offset + where.stored_bytes - 1) / alignment;
    EXPECT_EQ(last_page - first_page + 1, (where.stored_bytes + alignment - 1) / alignment) << i;
    // Small records are packed: one begins where its predecessor ended unless it would cross a
    // page.
    if (where.stored_bytes <= alignment && where.offset != previous_end) {
      EXPECT_GT(previous_end % alignment + where.stored_bytes, alignment) << i;
    }
    previous_end = where.offset + where.stored_bytes;
  }
}

TEST(Shard, ColumnsEqualTheRecords) {
  const TempDir dir;
  write_shard(dir / "a.ffr", 1300);
  const ShardReader reader(dir / "a.ffr");
  const auto labels = reader.int_column("label");
  const auto ids = reader.string_column("id");
  ASSERT_EQ(labels.size(), 1300U);
  ASSERT_EQ(ids.size(), 1300U);
  for (int64_t i = 0; i < 1300; ++i) {
    EXPECT_EQ(labels[static_cast<size_t>(i)], i % 10);
    EXPECT_EQ(ids[static_cast<size_t>(i)], "sample-" + std::to_string(i));
  }
  EXPECT_ERROR(reader.int_column("image"), not_found, .subject = field);
  EXPECT_ERROR(reader.int_column("id"), invalid_argument);
  EXPECT_ERROR(reader.string_column("label"), invalid_argument);
  EXPECT_ERROR(reader.float_column("label"), invalid_argument);
}

TEST(Shard, FloatColumnsAndNullsRead) {
  const TempDir dir;
  const Schema schema{
      {{.name = "x", .type = FieldType::scalar, .dtype = DType::f32, .column = true},
       {.name = "y", .type = FieldType::scalar, .dtype = DType::f64, .column = true},
       {.name = "z", .type = FieldType::scalar, .dtype = DType::i8, .column = true}}};
  ShardWriter writer(dir / "a.ffr", schema);
  RecordBuilder builder(schema);
  std::vector<std::byte> record;
  builder.set_scalar(0, 0.5F);
  builder.set_scalar(1, -2.25);
  builder.set_scalar<int8_t>(2, -3);
  builder.encode(record);
  writer.append(record);
  builder.encode(record);  // all null
  writer.append(record);
  writer.finish();
  const ShardReader reader(dir / "a.ffr");
  EXPECT_THAT(reader.float_column("x"), ::testing::ElementsAre(0.5, 0.0));
  EXPECT_THAT(reader.float_column("y"), ::testing::ElementsAre(-2.25, 0.0));
  EXPECT_THAT(reader.int_column("z"), ::testing::ElementsAre(-3, 0));
}

TEST(Shard, EmptyShardIsAShard) {
  const TempDir dir;
  write_shard(dir / "a.ffr", 0);
  const ShardReader reader(dir / "a.ffr");
  EXPECT_EQ(reader.num_records(), 0);
  EXPECT_TRUE(reader.int_column("label").empty());
  EXPECT_TRUE(reader.verify().empty());
  EXPECT_ERROR(reader.locate(0), invalid_argument);
}

TEST(Shard, SameInputGivesSameBytes) {
  const TempDir dir;
  write_shard(dir / "a.ffr", 100);
  write_shard(dir / "b.ffr", 100);
  EXPECT_EQ(read_file(dir / "a.ffr"), read_file(dir / "b.ffr"));
}

TEST(Shard, AppearsOnlyWhenFinished) {
  const TempDir dir;
  {
    const Schema schema = image_classification_schema();
    ShardWriter writer(dir / "a.ffr", schema);
    writer.append(make_record(schema, 0, 100));
    EXPECT_FALSE(std::filesystem::exists(dir / "a.ffr"));
    EXPECT_TRUE(std::filesystem::exists(dir / "a.ffr.tmp"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()))
      << "an unfinished writer leaves nothing behind";
  write_shard(dir / "a.ffr", 1);
  EXPECT_FALSE(std::filesystem::exists(dir / "a.ffr.tmp"));
  EXPECT_ERROR(ShardWriter(dir / "a.ffr", image_classification_schema()), invalid_argument);
}

TEST(Shard, WriterRefusesWhatIsNotARecord) {
  const TempDir dir;
  ShardWriter writer(dir / "a.ffr", image_classification_schema());
  const std::vector<std::byte> nonsense(50, std::byte{7});
  EXPECT_ERROR(writer.append(nonsense), corrupt, .subject = sample);
  EXPECT_ERROR(ShardWriter(dir / "b.ffr", image_classification_schema(), {.alignment = 1000}),
               invalid_argument);
}

TEST(Shard, WritersRefuseTextsThatAreNotUtf8) {
  const TempDir dir;
  const Schema schema{{{.name = "caf\xe9", .type = FieldType::bytes}}};
  EXPECT_ERROR(ShardWriter(dir / "a.ffr", schema), invalid_argument, .subject = field);
  EXPECT_ERROR(DatasetWriter(dir / "a", {.split = "a", .schema = schema}), invalid_argument,
               .subject = field);
  EXPECT_ERROR(DatasetWriter(dir / "a", {.split = "a",
                                         .schema = image_classification_schema(),
                                         .classes = {"b", "caf\xe9"}}),
               invalid_argument, .subject = argument);
  EXPECT_ERROR(shard_uuid({.schema = schema}, 0), invalid_argument, .subject = argument);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Shard, ManyThreadsReadAtOnce) {
  const TempDir dir;
  write_shard(dir / "a.ffr", 2000);
  const ShardReader reader(dir / "a.ffr");
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::byte> record;
      for (int64_t i = 0; i < 2000; ++i) {
        const int64_t index = (i * 7 + t * 501) % 2000;
        reader.read(index, record);
        if (RecordView(reader.schema(), record).scalar<int64_t>(1) != index % 10) ++num_wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

// Reads everything there is; returns the records, or throws.
std::vector<std::vector<std::byte>> read_everything(const std::filesystem::path& path) {
  const ShardReader reader(path);
  std::vector<std::vector<std::byte>> records(static_cast<size_t>(reader.num_records()));
  for (int64_t i = 0; i < reader.num_records(); ++i)
    reader.read(i, records[static_cast<size_t>(i)]);
  static_cast<void>(reader.int_column("label"));
  static_cast<void>(reader.string_column("id"));
  return records;
}

// A small shard, the same file damaged again and again.
class DamagedShard : public ::testing::Test {
 protected:
  DamagedShard() {
    const Schema schema = image_classification_schema();
    ShardWriter writer(path_, schema, {.alignment = 512});
    for (int64_t i = 0; i < 6; ++i) writer.append(make_record(schema, i, i == 3 ? 600 : 40));
    writer.finish();
    bytes_ = read_file(path_);
    records_ = read_everything(path_);
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "a.ffr";
  std::vector<std::byte> bytes_;
  std::vector<std::vector<std::byte>> records_;
};

TEST_F(DamagedShard, AppendedBytesAreFound) {
  auto longer = bytes_;
  longer.push_back(std::byte{0});
  write_file(path_, longer);
  EXPECT_ERROR(ShardReader{path_}, corrupt, .subject = shard);
}

TEST_F(DamagedShard, VerifyListsEveryDamagedRecord) {
  const ShardReader before(path_);
  auto damaged = bytes_;
  damaged[static_cast<size_t>(before.locate(1).offset) + 30] ^= std::byte{4};
  damaged[static_cast<size_t>(before.locate(4).offset)] ^= std::byte{1};
  write_file(path_, damaged);
  const auto problems = ShardReader(path_).verify();
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].record, 1);
  EXPECT_EQ(problems[0].offset, before.locate(1).offset);
  EXPECT_THAT(problems[0].message, HasSubstr("the record is damaged: the CRC-32C"));
  EXPECT_EQ(problems[1].record, 4);
}

TEST_F(DamagedShard, NewerVersionIsRefusedAsSuch) {
  bytes_[8] = std::byte{3};
  write_file(path_, bytes_);
  EXPECT_ERROR(ShardReader{path_}, unsupported, .subject = shard);
}

TEST(ShardReader, OtherFilesAreRefused) {
  const TempDir dir;
  EXPECT_ERROR(ShardReader{dir / "none.ffr"}, not_found, .subject = shard);
  write_file(dir / "text.ffr", std::vector<std::byte>(10000, std::byte{'x'}));
  EXPECT_ERROR(ShardReader{dir / "text.ffr"}, corrupt, .subject = shard);
  EXPECT_ERROR(ShardReader{dir.path()}, invalid_argument);
}

}  // namespace
}  // namespace ffkit
