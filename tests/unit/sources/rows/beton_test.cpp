#include "rows/beton_builder.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

using testing::BetonBuilder;

BetonBuilder pictures_and_labels() {
  BetonBuilder builder;
  builder.field("image", BetonBuilder::image).field("label", BetonBuilder::integer);
  return builder;
}

TEST(Beton, ReadsPicturesWithLabels) {
  const TempDir dir;
  write_file(dir / "train.beton", pictures_and_labels()
                                      .add_image(0, 16, 16, jpeg_picture(1))
                                      .add_number(3)
                                      .row()
                                      .add_image(1, 2, 1, "abcdef")
                                      .add_number(static_cast<uint64_t>(-1))
                                      .row()
                                      .file());
  write_file(
      dir / "val_400.ffcv",
      pictures_and_labels().add_image(0, 16, 16, jpeg_picture(2)).add_number(0).row().file());
  const auto source = open_beton(dir.path());
  EXPECT_EQ(source->schema(), image_classification_schema());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_EQ(source->splits()[1].name, "val");
  const Schema schema = source->schema();
  const auto first = record_of(*source, 0, 0);
  EXPECT_EQ(text_of(RecordView(schema, first).bytes(0)), jpeg_picture(1));
  EXPECT_EQ(RecordView(schema, first).scalar<int64_t>(1), 3);
  EXPECT_EQ(RecordView(schema, first).string(2), "train.beton: 0");
  const auto second = record_of(*source, 0, 1);
  EXPECT_EQ(text_of(RecordView(schema, second).bytes(0)), "P6\n2 1\n255\nabcdef");
  EXPECT_EQ(RecordView(schema, second).scalar<int64_t>(1), -1);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 picture has raw pixels")));
}

TEST(Beton, ReadsEveryTypeOfField) {
  const TempDir dir;
  BetonBuilder builder;
  builder.field("r", BetonBuilder::real)
      .field("picture", BetonBuilder::image)
      .field("b", BetonBuilder::bytes)
      .field("a", BetonBuilder::array, BetonBuilder::array_arguments({2, 1}, "<i2"))
      .field("j", BetonBuilder::json)
      .field("t", BetonBuilder::tensor, BetonBuilder::array_arguments({}, "|b1"))
      .field("i", BetonBuilder::integer);
  for (int row = 0; row < 2; ++row) {
    builder.add_real(0.5 + row)
        .add_image(0, 16, 16, jpeg_picture(1 + row))
        .add_bytes(row == 0 ? "" : "some")
        .add_array(std::string("\1\0\2\0", 4))
        .add_bytes(std::string("{\"a\": 1}\0", 9))
        .add_array("\1")
        .add_number(7)
        .row();
  }
  write_file(dir / "a.beton", builder.file());
  const auto source = open_beton(dir / "a.beton");
  const Schema schema = source->schema();
  EXPECT_THAT(fields_of(*source),
              ElementsAre("'image' image", "'r' scalar f64 with column", "'b' bytes",
                          "'a' tensor i16", "'j' string", "'t' tensor u8",
                          "'i' scalar i64 with column", "'id' string with column"));
  const auto record = record_of(*source, 0, 1);
  const RecordView view(schema, record);
  EXPECT_EQ(text_of(view.bytes(0)), jpeg_picture(2));
  EXPECT_EQ(view.scalar<double>(1), 1.5);
  EXPECT_EQ(text_of(view.bytes(2)), "some");
  EXPECT_THAT(view.tensor(3).shape, ElementsAre(2, 1));
  EXPECT_THAT(values_of<int16_t>(view.tensor(3)), ElementsAre(1, 2));
  EXPECT_EQ(view.string(4), "{\"a\": 1}");
  EXPECT_TRUE(view.tensor(5).shape.empty());
  EXPECT_THAT(values_of<uint8_t>(view.tensor(5)), ElementsAre(1));
  EXPECT_EQ(view.scalar<int64_t>(6), 7);
  const auto first = record_of(*source, 0, 0);
  EXPECT_EQ(RecordView(schema, first).bytes(2).size(), 0U);
}

TEST(Beton, ReadsAFileOfFfcv) {
  const auto source =
      open_beton(std::string(FFKIT_GOLDEN_FOLDER) + "/other_libraries/ffcv.beton.gz");
  const Schema schema = source->schema();
  ASSERT_EQ(source->splits()[0].num_samples, 3);
  for (int64_t row = 0; row < 3; ++row) {
    const auto record = record_of(*source, 0, row);
    const RecordView view(schema, record);
    std::string pixels = "P6\n5 4\n255\n";
    for (int i = 0; i < 60; ++i) pixels += static_cast<char>(i + row);
    EXPECT_EQ(text_of(view.bytes(schema.require("image"))), pixels);
    EXPECT_EQ(view.scalar<int64_t>(schema.require("label")), row);
    EXPECT_EQ(view.scalar<double>(schema.require("score")), 0.25 + static_cast<double>(row));
    EXPECT_EQ(text_of(view.bytes(schema.require("blob"))),
              std::string("blob", static_cast<size_t>(row)));
    const TensorView boxes = view.tensor(schema.require("boxes"));
    EXPECT_THAT(boxes.shape, ElementsAre(2, 3));
    EXPECT_EQ(values_of<float>(boxes)[5], 5.0F + static_cast<float>(row));
    EXPECT_EQ(view.string(schema.require("meta")), "{\"i\": " + std::to_string(row) + "}");
    EXPECT_THAT(values_of<int16_t>(view.tensor(schema.require("tensor"))), ElementsAre(row, -row));
  }
}

TEST(Beton, GivesEachFieldANameOfItsOwn) {
  const TempDir dir;
  write_file(dir / "a.beton", BetonBuilder()
                                  .field("sixteen_letters_", BetonBuilder::integer)
                                  .field("sixteen_letters_", BetonBuilder::integer)
                                  .field("", BetonBuilder::integer)
                                  .add_number(1)
                                  .add_number(2)
                                  .add_number(3)
                                  .row()
                                  .file());
  const auto source = open_beton(dir.path());
  const Schema schema = source->schema();
  EXPECT_EQ(schema.fields[1].name, "sixteen_letters__2");
  EXPECT_EQ(schema.fields[2].name, "field_2");
  const auto record = record_of(*source, 0, 0);
  EXPECT_EQ(RecordView(schema, record).scalar<int64_t>(2), 3);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("field number 2 gets the name")));
}

TEST(Beton, SamplesThatWereNotWrittenAreBadOnes) {
  const TempDir dir;
  const TempDir out;
  std::string file = pictures_and_labels()
                         .add_image(0, 16, 16, jpeg_picture(1))
                         .add_number(1)
                         .row()
                         .add_image(0, 0, 0, "")
                         .add_number(0)
                         .row()
                         .add_image(1, 2, 2, "too few")
                         .add_number(0)
                         .row()
                         .add_image(0, 16, 16, jpeg_picture(2))
                         .add_number(2)
                         .row()
                         .file();
  // The place of the last picture: not where anything was allocated.
  constexpr size_t kRows = 24 + 2 * (1 + 16 + 1024);
  file[kRows + 3 * 24 + 5] = static_cast<char>(file[kRows + 3 * 24 + 5] ^ 1);
  write_file(dir / "a.beton", file);
  const auto source = open_beton(dir.path());
  EXPECT_THAT(source->notes(), Contains(HasSubstr("3 values are damaged")));
  for (int64_t row = 1; row < 4; ++row) EXPECT_ERROR(record_of(*source, 0, row), corrupt);
  const ConvertSummary summary =
      convert(*source, out / "set", {.order = Order::sequential, .bad_samples = BadSamples::skip});
  EXPECT_EQ(summary.num_skipped(), 3);
}

TEST(Beton, RefusesBytesOutsideOfTheFile) {
  const TempDir dir;
  BetonBuilder builder;
  builder.field("b", BetonBuilder::bytes)
      .field("a", BetonBuilder::array, BetonBuilder::array_arguments({3}, "|u1"))
      .add_bytes("text")
      .add_array("abc")
      .row();
  const std::string file = builder.file();
  constexpr size_t kRows = 24 + 2 * (1 + 16 + 1024);
  for (const size_t at : {kRows + 6, kRows + 14, kRows + 22}) {
    std::string damaged = file;
    damaged[at] = '\x7F';
    write_file(dir / "a.beton", damaged);
    EXPECT_ERROR(record_of(*open_beton(dir.path()), 0, 0), corrupt);
  }
}

TEST(Beton, RefusesFilesThatAreNone) {
  const TempDir dir;
  const auto refuse = [&](const std::string& file, ErrorCode code) {
    write_file(dir / "a.beton", file);
    EXPECT_TRUE(testing::throws_error([&] { open_beton(dir.path()); }, code,
                                      {.subject = ErrorSubject::source}));
  };
  refuse("", ErrorCode::unsupported);
  refuse("hello, world, this is a text", ErrorCode::unsupported);
  refuse(jpeg_picture(1), ErrorCode::unsupported);
  BetonBuilder builder = pictures_and_labels();
  builder.add_image(0, 16, 16, jpeg_picture(1)).add_number(1).row();
  const std::string whole = builder.file();
  refuse(whole.substr(0, whole.size() - 24 - 700), ErrorCode::corrupt);
  refuse(whole.substr(0, whole.size() - 1), ErrorCode::corrupt);
  builder.has_allocations = false;
  refuse(builder.file(), ErrorCode::corrupt);
  builder.has_allocations = true;
  builder.version = 3;
  refuse(builder.file(), ErrorCode::unsupported);
  builder.version = 2;
  builder.page_bytes = 1234;
  refuse(builder.file(), ErrorCode::unsupported);
  std::string many = whole;
  many[12] = 1;  // 2^32 samples more
  refuse(many, ErrorCode::corrupt);
  many = whole;
  many[3] = 8;  // 2,048 fields more
  refuse(many, ErrorCode::corrupt);
  refuse(pictures_and_labels().file(), ErrorCode::not_found);
}

TEST(Beton, RefusesFieldsThatCannotBe) {
  const TempDir dir;
  const auto refuse = [&](BetonBuilder::Type type, const std::string& arguments, ErrorCode code) {
    write_file(dir / "a.beton",
               BetonBuilder().field("x", type, arguments).add_number(1).row().file());
    EXPECT_TRUE(testing::throws_error([&] { open_beton(dir.path()); }, code,
                                      {.subject = ErrorSubject::source}));
  };
  refuse(BetonBuilder::own, "", ErrorCode::unsupported);
  const auto arguments = &BetonBuilder::array_arguments;
  refuse(BetonBuilder::array, arguments({2}, ">f4"), ErrorCode::unsupported);
  refuse(BetonBuilder::array, arguments({2}, "|O"), ErrorCode::unsupported);
  refuse(BetonBuilder::array, arguments({1U << 31, 1U << 31, 1U << 31}, "<f4"), ErrorCode::corrupt);
  refuse(BetonBuilder::array, arguments({UINT64_MAX}, "<f4"), ErrorCode::corrupt);
  refuse(BetonBuilder::tensor, arguments({1 << 20}, "<f4"), ErrorCode::corrupt);
  refuse(BetonBuilder::tensor, std::string(32 * 8, '\0') + BetonBuilder::number(uint64_t{5000}),
         ErrorCode::corrupt);
  refuse(BetonBuilder::tensor, "", ErrorCode::unsupported);
}

TEST(Beton, RefusesFilesOfOtherFields) {
  const TempDir dir;
  write_file(
      dir / "train.beton",
      pictures_and_labels().add_image(0, 16, 16, jpeg_picture(1)).add_number(1).row().file());
  write_file(dir / "val.beton",
             BetonBuilder().field("image", BetonBuilder::integer).add_number(1).row().file());
  EXPECT_ERROR(open_beton(dir.path()), unsupported, .subject = source);
}

TEST(Beton, RefusesSamplesBeyondTheLimit) {
  const TempDir dir;
  write_file(dir / "a.beton", BetonBuilder()
                                  .field("a", BetonBuilder::bytes)
                                  .field("b", BetonBuilder::bytes)
                                  .add_bytes(std::string(600, 'a'))
                                  .add_bytes(std::string(600, 'b'))
                                  .row()
                                  .file());
  const auto source = open_beton(dir.path(), {.max_sample_bytes = 1024});
  EXPECT_ERROR(record_of(*source, 0, 0), unsupported);
}

}  // namespace
}  // namespace ffkit
