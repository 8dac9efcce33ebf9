#include <ffkit/format/shard_reader.h>

#include "format_prelude.h"
#include "random_records.h"

namespace ffkit {
namespace {

using testing::encode;
using testing::expect_field;
using testing::expect_record;
using testing::Random;
using testing::random_record;
using testing::random_schema;
using testing::RandomRecord;

Schema full_schema() {
  return Schema{{
      {.name = "blob", .type = FieldType::bytes},
      {.name = "name", .type = FieldType::string},
      {.name = "score", .type = FieldType::scalar, .dtype = DType::f32},
      {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
      {.name = "boxes", .type = FieldType::tensor, .dtype = DType::i16},
      {.name = "cam_front/image", .type = FieldType::image},
  }};
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Record, GivesBackWhatWasPutIn) {
  const Schema schema = full_schema();
  const std::array<int16_t, 6> numbers = {1, -2, 3, -4, 5, std::numeric_limits<int16_t>::min()};
  RecordBuilder builder(schema);
  builder.set_bytes(0, as_bytes("abc"));
  builder.set_string(1, "grüße");
  builder.set_scalar(2, 1.5F);
  builder.set_scalar<int64_t>(3, -7);
  builder.set_tensor(
      4, {.dtype = DType::i16, .shape = {2, 3}, .data = std::as_bytes(std::span(numbers))});
  builder.set_bytes(5, as_bytes(""));
  std::vector<std::byte> record = testing::encoded(builder);

  const RecordView view(schema, record);
  EXPECT_EQ(view.bytes(0).size(), 3U);
  EXPECT_EQ(view.string(1), "grüße");
  EXPECT_EQ(view.scalar<float>(2), 1.5F);
  EXPECT_EQ(view.scalar<int64_t>(3), -7);
  const TensorView tensor = view.tensor(4);
  EXPECT_THAT(tensor.shape, ElementsAre(2, 3));
  EXPECT_EQ(std::memcmp(tensor.data.data(), numbers.data(), sizeof(numbers)), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data.data()) % 8,
            reinterpret_cast<uintptr_t>(record.data()) % 8);
  EXPECT_FALSE(view.is_null(5));
  EXPECT_TRUE(view.bytes(5).empty());
}

TEST(Record, TellsNullFromEmpty) {
  const Schema schema = full_schema();
  RecordBuilder builder(schema);
  builder.set_string(1, "");
  std::vector<std::byte> record = testing::encoded(builder);
  const RecordView view(schema, record);
  EXPECT_FALSE(view.is_null(1));
  EXPECT_EQ(view.string(1), "");
  for (size_t field : {0, 2, 3, 4, 5}) EXPECT_TRUE(view.is_null(field)) << field;
  EXPECT_ERROR(view.scalar<int64_t>(3), not_found, .subject = field);
}

TEST(Record, BuilderStartsAfreshAfterEncode) {
  const Schema schema = full_schema();
  RecordBuilder builder(schema);
  std::vector<std::byte> record;
  builder.set_string(1, "first");
  builder.encode(record);
  builder.encode(record);
  EXPECT_TRUE(RecordView(schema, record).is_null(1));
}

TEST(Record, RefusesOtherTypes) {
  const Schema schema = full_schema();
  RecordBuilder builder(schema);
  EXPECT_ERROR(builder.set_string(0, "x"), invalid_argument);
  EXPECT_ERROR(builder.set_scalar<int32_t>(3, 1), invalid_argument);
  EXPECT_ERROR(builder.set_string(6, "x"), invalid_argument);
  const std::array<int16_t, 3> numbers{};
  EXPECT_ERROR(
      builder.set_tensor(
          4, {.dtype = DType::i16, .shape = {2}, .data = std::as_bytes(std::span(numbers))}),
      invalid_argument);
  // 2^63 elements of 2 bytes would be 0 bytes if the product wrapped around.
  EXPECT_ERROR(builder.set_tensor(4, {.dtype = DType::i16, .shape = {1LL << 62, 2}, .data = {}}),
               invalid_argument);
}

TEST(Record, RefusesEveryTruncation) {
  const Schema schema = image_classification_schema();
  RecordBuilder builder(schema);
  builder.set_bytes(0, as_bytes("picture"));
  builder.set_scalar<int64_t>(1, 3);
  builder.set_string(2, "id");
  std::vector<std::byte> record = testing::encoded(builder);
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_ERROR_CODE(RecordView(schema, std::span(record).first(size)), corrupt, .subject = sample)
        << size;
  }
}

TEST(Record, AnyFieldTableIsReadOrRefused) {
  const Schema schema = full_schema();
  RecordBuilder builder(schema);
  builder.set_bytes(0, as_bytes("0123456789"));
  std::vector<std::byte> record = testing::encoded(builder);
  for (size_t bit = 0; bit < 8 * 8 * schema.fields.size(); ++bit) {
    auto damaged = record;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    try {
      const RecordView view(schema, damaged);
      for (size_t field = 0; field < schema.fields.size(); ++field) {
        const auto raw = view.raw(field);
        EXPECT_GE(raw.data(), damaged.data());
        EXPECT_LE(raw.data() + raw.size(), damaged.data() + damaged.size());
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::corrupt);
    }
  }
}

TEST(Schema, ValidateNamesTheMistake) {
  EXPECT_ERROR(validate(Schema{}), invalid_argument);
  EXPECT_ERROR(validate(Schema{{{.name = ""}}}), invalid_argument);
  EXPECT_ERROR(validate(Schema{{{.name = "a"}, {.name = "a"}}}), invalid_argument);
  EXPECT_ERROR(validate(Schema{{{.name = "a", .type = FieldType::bytes, .column = true}}}),
               invalid_argument);
}

TEST(Schema, DifferenceNamesTheField) {
  Schema other = image_classification_schema();
  EXPECT_EQ(image_classification_schema().difference(other), "");
  other.fields[1].dtype = DType::u16;
  EXPECT_EQ(
      image_classification_schema().difference(other),
      "field 1 is 'label' scalar i64 with column in one schema and 'label' scalar u16 with column "
      "in the other");
  EXPECT_ERROR(other.require("lable"), not_found, .subject = field);
}

TEST(DType, NamesGoBothWays) {
  for (int i = 0; i < 12; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(from_name<DType>(to_string(dtype)), dtype);
  }
  EXPECT_ERROR(from_name<DType>("int8"), invalid_argument);
}

// Properties that hold for every schema and every record.
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
