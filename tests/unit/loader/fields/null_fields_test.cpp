// Masks, and zeros where a field is null.
#include <ffkit/format/record.h>
#include <ffkit/loader/field_decoder.h>

#include "test_prelude.h"

namespace ffkit {
namespace {

const Schema kNullSchema{{{.name = "a", .type = FieldType::scalar, .dtype = DType::i32},
                          {.name = "b", .type = FieldType::string}}};

std::vector<std::byte> record_with(bool has_a, bool has_b) {
  RecordBuilder builder(kNullSchema);
  if (has_a) builder.set_scalar<int32_t>(0, 7);
  if (has_b) builder.set_string(1, "text");
  return testing::encoded(builder);
}

// What it makes of a record, in memory that holds 255 everywhere.
std::vector<uint8_t> made(const FieldDecoder& decoder, const std::vector<std::byte>& record,
                          size_t num_bytes) {
  std::vector<uint8_t> out(num_bytes, 255);
  const auto scratch = decoder.make_scratch();
  decoder.decode(RecordView(kNullSchema, record), {}, scratch.get(), out.data());
  return out;
}

class CountingScratch : public FieldDecoder::Scratch {};

// Two parts of 4 bytes, each its number plus one.
class TwoParts final : public PartsDecoder {
 public:
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {2, 4}; }
  int64_t num_parts() const override { return 2; }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<CountingScratch>();
  }
  void decode_part(const RecordView&, const SampleKey&, int64_t part, Scratch* scratch,
                   void* out) const override {
    EXPECT_NE(dynamic_cast<CountingScratch*>(scratch), nullptr);
    std::memset(static_cast<uint8_t*>(out) + 4 * part, static_cast<int>(part + 1), 4);
  }
};

TEST(NullFields, AMaskIsOneWhereTheRecordHasTheField) {
  const auto one = decode_valid(kNullSchema, "a");
  EXPECT_EQ(one->dtype(), DType::u8);
  EXPECT_TRUE(one->shape().empty());
  EXPECT_THAT(made(*one, record_with(true, false), 1), ElementsAre(1));
  EXPECT_THAT(made(*one, record_with(false, true), 1), ElementsAre(0));
  const auto two = decode_valid(kNullSchema, std::vector<std::string>{"b", "a"});
  EXPECT_EQ(two->shape(), std::vector<int64_t>{2});
  EXPECT_THAT(made(*two, record_with(true, false), 2), ElementsAre(0, 1));
  EXPECT_ERROR(decode_valid(kNullSchema, "c"), not_found, .subject = field);
}

TEST(NullFields, AnArrayIsZerosWhereTheFieldIsNull) {
  const auto decoder = zeros_where_null(kNullSchema, "a", copy_field(kNullSchema, "a"));
  EXPECT_EQ(decoder->dtype(), DType::i32);
  EXPECT_THAT(made(*decoder, record_with(true, true), 4), ElementsAre(7, 0, 0, 0));
  EXPECT_THAT(made(*decoder, record_with(false, true), 5), ElementsAre(0, 0, 0, 0, 255));
  EXPECT_ERROR(made(*copy_field(kNullSchema, "a"), record_with(false, true), 4), not_found,
               .subject = field);
  EXPECT_ERROR(zeros_where_null(kNullSchema, "a", nullptr), invalid_argument);
  EXPECT_ERROR(zeros_where_null(kNullSchema, "c", copy_field(kNullSchema, "a")), not_found,
               .subject = field);
}

TEST(NullFields, PartsStayParts) {
  const auto decoder = zeros_where_null(kNullSchema, "b", std::make_shared<TwoParts>());
  const auto* parts = dynamic_cast<const PartsDecoder*>(decoder.get());
  ASSERT_NE(parts, nullptr);
  EXPECT_EQ(parts->num_parts(), 2);
  EXPECT_THAT(made(*decoder, record_with(false, true), 8), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2));
  EXPECT_THAT(made(*decoder, record_with(true, false), 8), Each(0));
}

class FourRows final : public RowsDecoder {
 public:
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {}; }
  int64_t max_rows() const override { return 5; }
  int64_t decode_rows(const RecordView&, const SampleKey&, Scratch*, void*) const override {
    return 4;
  }
};

TEST(NullFields, RowsAreNone) {
  const auto decoder = zeros_where_null(kNullSchema, "b", std::make_shared<FourRows>());
  const auto* rows = dynamic_cast<const RowsDecoder*>(decoder.get());
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->max_rows(), 5);
  std::array<char, 5> out{};
  const auto count = [&](const std::vector<std::byte>& record) {
    return rows->decode_rows(RecordView(kNullSchema, record), {}, nullptr, out.data());
  };
  EXPECT_EQ(count(record_with(true, true)), 4);
  EXPECT_EQ(count(record_with(true, false)), 0);
}

TEST(NullFields, TextsAreEmpty) {
  const auto decoder = zeros_where_null(kNullSchema, "a", copy_string(kNullSchema, "b"));
  const auto* texts = dynamic_cast<const TextDecoder*>(decoder.get());
  ASSERT_NE(texts, nullptr);
  const auto text = [&](const std::vector<std::byte>& record) {
    return std::string(texts->decode_text(RecordView(kNullSchema, record), {}, nullptr));
  };
  EXPECT_EQ(text(record_with(true, true)), "text");
  EXPECT_EQ(text(record_with(true, false)), "");
  EXPECT_EQ(text(record_with(false, true)), "");
  EXPECT_ERROR(made(*decoder, record_with(true, true), 4), invalid_argument);
}

}  // namespace
}  // namespace ffkit
