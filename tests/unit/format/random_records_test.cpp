// Properties that hold for every schema and every record.
#include "random_records.h"

#include <gtest/gtest.h>

#include <ffkit/format/shard_reader.h>
#include <ffkit/format/shard_writer.h>

#include "temp_dir.h"

namespace ffkit {
namespace {

using testing::encode;
using testing::expect_field;
using testing::expect_record;
using testing::Random;
using testing::random_record;
using testing::random_schema;
using testing::RandomRecord;
using testing::TempDir;

class RandomShard : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomShard, ::testing::Range(0U, 60U));

TEST_P(RandomShard, GivesBackEveryValueWholeAndFieldByField) {
  Random random(GetParam());
  const TempDir dir;
  const Schema schema = random_schema(random);
  ShardWriterOptions options{.alignment = 1U << random.below(17)};  // 1 .. 64 KiB
  options.compression.level = random.below(2) == 0 ? 0 : 1 + static_cast<int>(random.below(5));
  std::vector<RandomRecord> records(random.below(60));
  ShardWriter writer(dir / "a.ffr", schema, options);
  for (RandomRecord& record : records) {
    record = random_record(schema, random, 10000);
    writer.append(encode(schema, record));
  }
  const ShardSummary summary = writer.finish();

  const ShardReader reader(dir / "a.ffr");
  EXPECT_EQ(reader.schema(), schema);
  EXPECT_TRUE(reader.verify().empty());
  EXPECT_EQ(reader.facts().raw_bytes, summary.raw_bytes);
  ASSERT_EQ(reader.num_records(), static_cast<int64_t>(records.size()));
  std::vector<std::byte> bytes;
  int64_t raw_bytes = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    const RecordLocation where = reader.locate(number);
    const int64_t last = where.offset + where.stored_bytes - 1;
    const int64_t pages = last / options.alignment - where.offset / options.alignment + 1;
    EXPECT_EQ(pages, (where.stored_bytes + options.alignment - 1) / options.alignment);
    reader.read(number, bytes);
    raw_bytes += static_cast<int64_t>(bytes.size());
    EXPECT_EQ(bytes, encode(schema, records[i]));
    expect_record(schema, bytes, records[i]);
    for (size_t f = 0; f < schema.fields.size(); ++f) {
      const bool has_value = reader.read_field(number, f, bytes);
      expect_field(schema.fields[f], FieldView(schema.fields[f], bytes, !has_value), records[i][f]);
    }
  }
  EXPECT_EQ(raw_bytes, summary.raw_bytes);
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    if (!field.column || field.type != FieldType::string) continue;
    const auto column = reader.string_column(field.name);
    for (size_t i = 0; i < records.size(); ++i) {
      const auto text = std::as_bytes(std::span(column[i]));
      if (records[i][f].is_null) {
        EXPECT_TRUE(text.empty());
      } else {
        EXPECT_TRUE(std::ranges::equal(text, records[i][f].items[0]));
      }
    }
  }
}

}  // namespace
}  // namespace ffkit
