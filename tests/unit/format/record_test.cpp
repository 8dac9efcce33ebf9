#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/format/record.h>

#include "expect_error.h"

namespace ffkit {
namespace {

using ::testing::ElementsAre;

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
  std::vector<std::byte> record;
  builder.encode(record);

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
  std::vector<std::byte> record;
  builder.encode(record);
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
  std::vector<std::byte> record;
  builder.encode(record);
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_ERROR_CODE(RecordView(schema, std::span(record).first(size)), corrupt, .subject = sample)
        << size;
  }
}

TEST(Record, AnyFieldTableIsReadOrRefused) {
  const Schema schema = full_schema();
  RecordBuilder builder(schema);
  builder.set_bytes(0, as_bytes("0123456789"));
  std::vector<std::byte> record;
  builder.encode(record);
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
  EXPECT_EQ(image_classification_schema().difference(other),
            "field 1 is 'label' scalar i64 with column against 'label' scalar u16 with column");
  EXPECT_ERROR(other.require("lable"), not_found, .subject = field);
}

TEST(DType, NamesGoBothWays) {
  for (int i = 0; i < 12; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_ERROR(parse_dtype("int8"), unsupported);
}

}  // namespace
}  // namespace ffkit
