// Fields whose bytes have the right checksum and cannot be what their type says: verify finds them,
// and errors name file and record.
#include <ffkit/format/dtype_visitor.h>

#include "format_prelude.h"

namespace ffkit {
namespace {

const Schema& values_schema() {
  static const Schema made{{
      {.name = "tensor", .type = FieldType::tensor, .dtype = DType::f32},
      {.name = "list", .type = FieldType::list, .item = FieldType::string},
      {.name = "tensors", .type = FieldType::list, .dtype = DType::u16, .item = FieldType::tensor},
      {.name = "scalar", .type = FieldType::scalar, .dtype = DType::i32},
      {.name = "text", .type = FieldType::string},
  }};
  return made;
}

// The same fields, all of them bytes: what RecordBuilder lets one write anything into.
Schema bytes_schema() {
  Schema all = values_schema();
  for (Field& field : all.fields) field = {.name = field.name, .type = FieldType::bytes};
  return all;
}

const std::vector<std::byte>& junk() {
  static const std::vector<std::byte> made(5, std::byte{0x77});
  return made;
}

// Record i has junk in field i; the last two have a tensor in "tensors" that is none, and only
// nulls.
void write_values_shard(const std::filesystem::path& path) {
  ShardWriter writer(path, values_schema(), {.uuid = {1}});
  const Schema raw = bytes_schema();
  RecordBuilder builder(raw);
  for (size_t field = 0; field < 5; ++field) {
    builder.set_bytes(field, junk());
    writer.append(testing::encoded(builder));
  }
  Schema with_list = raw;
  with_list.fields[2] = {.name = "tensors", .type = FieldType::list, .item = FieldType::bytes};
  RecordBuilder lists(with_list);
  const std::vector<std::byte> empty_tensor = {std::byte{1}, {}, {}, {}, {}, {}, {}, {},
                                               {},           {}, {}, {}, {}, {}, {}, {}};
  const std::vector<std::span<const std::byte>> items = {empty_tensor, junk()};
  lists.set_list(2, items);
  writer.append(testing::encoded(lists));
  writer.append(testing::encoded(lists));
  writer.finish();
}

constexpr std::array kWrong = {
    "field 'tensor' has 5 bytes, but these bytes are not a tensor of f32",
    "field 'list' has 5 bytes, but these bytes are not a list of string",
    "field 'tensors' has 5 bytes, but these bytes are not a list of tensor",
    "field 'scalar' has 5 bytes, but these bytes are not a i32"};
constexpr const char* kWrongItem =
    "field 'tensors' has 5 bytes, but these bytes are not a tensor of u16";

TEST(FieldValues, ThatAreImpossibleAreFoundByVerify) {
  const TempDir dir;
  write_values_shard(dir / "a.ffr");
  const ShardReader reader(dir / "a.ffr");
  const auto problems = reader.verify();
  ASSERT_EQ(problems.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    const int64_t record = i < 4 ? static_cast<int64_t>(i) : 5;
    EXPECT_EQ(problems[i].record, record);
    EXPECT_EQ(problems[i].offset, reader.locate(record).offset);
    EXPECT_THAT(problems[i].message, HasSubstr("a.ffr: record " + std::to_string(record) + ": "));
    EXPECT_THAT(problems[i].message, HasSubstr(i < 4 ? kWrong[i] : kWrongItem));
  }
}

TEST(FieldValues, ThatAreImpossibleEndInErrorsThatNameTheRecord) {
  const TempDir dir;
  write_values_shard(dir / "a.ffr");
  const Dataset whole = Dataset::open(dir / "a.ffr");
  const Dataset subset = whole.subset({6, 5, 2, 1, 0});
  std::vector<std::byte> bytes;
  const auto view = [&](int64_t index) {
    subset.read(index, bytes);
    return RecordView(subset.schema(), bytes, subset.name(index));
  };
  EXPECT_ERROR(view(4).tensor(0), corrupt, .path = dir / "a.ffr", .record = 0, .subject = sample);
  EXPECT_ERROR(view(3).list(1), corrupt, .path = dir / "a.ffr", .record = 1, .subject = sample);
  EXPECT_ERROR(view(2).list(2), corrupt, .path = dir / "a.ffr", .record = 2, .subject = sample);
  const ListView tensors = view(1).list(2);
  EXPECT_EQ(tensors.tensor(0).shape.size(), 1U);
  EXPECT_ERROR(tensors.tensor(1), corrupt, .path = dir / "a.ffr", .record = 5, .subject = sample);
  EXPECT_ERROR(view(0).tensor(0), not_found, .record = 6, .subject = field);
  EXPECT_ERROR(subset.name(5), invalid_argument);

  whole.read(3, bytes);
  const RecordView unnamed(whole.schema(), bytes);
  EXPECT_ERROR(unnamed.scalar<int32_t>(3), corrupt, .subject = sample);
  const std::filesystem::path file = "b.ffr";
  EXPECT_ERROR(RecordView(whole.schema(), junk(), {&file, 9}), corrupt, .record = 9,
               .subject = sample);
}

constexpr std::array kAll = {DType::u8,  DType::i8,   DType::u16, DType::i16,
                             DType::u32, DType::i32,  DType::u64, DType::i64,
                             DType::f16, DType::bf16, DType::f32, DType::f64};

TEST(VisitDtype, GivesTheTypeOfEveryDtype) {
  for (const DType dtype : kAll) {
    visit_dtype(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      EXPECT_EQ(sizeof(T), size_of(dtype)) << to_string(dtype);
      if constexpr (std::is_arithmetic_v<T>) {
        EXPECT_EQ(dtype_of<T>(), dtype);
        EXPECT_EQ(std::is_integral_v<T>, is_integer(dtype));
      } else {
        EXPECT_EQ((std::is_same_v<T, BFloat16>), dtype == DType::bf16);
        EXPECT_FALSE(is_integer(dtype));
      }
    });
  }
}

TEST(VisitDtype, ReturnsWhatTheVisitorReturns) {
  EXPECT_EQ(
      visit_dtype(DType::i16, [](auto type) { return sizeof(typename decltype(type)::type); }), 2U);
}

TEST(LoadNumber, ReadsAtAnyAlignment) {
  const std::array<std::byte, 5> bytes = {std::byte{9}, std::byte{0x78}, std::byte{0x56},
                                          std::byte{0x34}, std::byte{0x12}};
  EXPECT_EQ(load_number<uint32_t>(bytes.data() + 1), 0x12345678U);
}

TEST(Float16, ConvertsAsIeeeBinary16) {
  const auto value = [](uint16_t bits) { return static_cast<float>(Float16{bits}); };
  EXPECT_EQ(value(0x0000), 0.0F);
  EXPECT_TRUE(std::signbit(value(0x8000)));
  EXPECT_EQ(value(0x3C00), 1.0F);
  EXPECT_EQ(value(0xC000), -2.0F);
  EXPECT_EQ(value(0x3555), 0.333251953125F);
  EXPECT_EQ(value(0x7BFF), 65504.0F);                 // largest
  EXPECT_EQ(value(0x0400), 0.00006103515625F);        // smallest normal, 2^-14
  EXPECT_EQ(value(0x0001), 5.9604644775390625e-08F);  // smallest, 2^-24
  EXPECT_EQ(value(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(value(0x7E00)));
}

TEST(BFloat16, IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(static_cast<float>(BFloat16{0x3F80}), 1.0F);
  EXPECT_EQ(static_cast<double>(BFloat16{0xC049}), -3.140625);
  EXPECT_TRUE(std::isinf(static_cast<float>(BFloat16{0x7F80})));
}

}  // namespace
}  // namespace ffkit
