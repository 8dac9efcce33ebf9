#include <zlib.h>

#include "rows/recordio_builder.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

using testing::RecordIoBuilder;

const std::string kMagicText = RecordIoBuilder::bytes_of(RecordIoBuilder::kMagic);

std::string bytes_in(const Source& source, int64_t row, const std::string& field) {
  const Schema schema = source.schema();
  const std::vector<std::byte> record = record_of(source, 0, row);
  const std::span<const std::byte> bytes =
      RecordView(schema, record).bytes(static_cast<size_t>(schema.index_of(field)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string id_in(const Source& source, int64_t row, size_t split = 0) {
  const Schema schema = source.schema();
  const std::vector<std::byte> record = record_of(source, split, row);
  return std::string(RecordView(schema, record).string(schema.fields.size() - 1));
}

int64_t label_in(const Source& source, int64_t row) {
  const Schema schema = source.schema();
  const std::vector<std::byte> record = record_of(source, 0, row);
  return RecordView(schema, record).scalar<int64_t>(1);
}

TEST(RecordIo, ReadsPicturesWithLabelsAndIds) {
  const TempDir dir;
  write_file(dir / "train.rec", RecordIoBuilder()
                                    .add_image({3}, 7, jpeg_picture(1))
                                    .add_image({-1}, 9, jpeg_picture(2))
                                    .file());
  write_file(dir / "val.rec", RecordIoBuilder().add_image({0}, 7, jpeg_picture(3)).file());
  const auto source = open_recordio(dir.path());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_EQ(source->splits()[1].num_samples, 1);
  EXPECT_EQ(source->schema(), image_classification_schema());
  EXPECT_EQ(bytes_in(*source, 0, "image"), jpeg_picture(1));
  EXPECT_EQ(label_in(*source, 0), 3);
  EXPECT_EQ(label_in(*source, 1), -1);
  EXPECT_EQ(id_in(*source, 1), "9");
  EXPECT_EQ(source->describe(0, 1), (dir / "train.rec").string() + ": 1");
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("id2 in the headers of the records is always 0")));
}

TEST(RecordIo, ReadsAFileOfMxnet) {
  const auto source =
      open_recordio(std::string(FFKIT_GOLDEN_FOLDER) + "/other_libraries/mxnet.rec");
  EXPECT_EQ(source->schema(), image_classification_schema());
  ASSERT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_EQ(label_in(*source, 0), 3);
  EXPECT_EQ(id_in(*source, 1), "8");
  const std::string picture = bytes_in(*source, 0, "image");
  std::string with_magic = picture + std::string((4 - picture.size() % 4) % 4, '\0');
  with_magic += kMagicText;
  with_magic += kMagicText;
  EXPECT_EQ(bytes_in(*source, 1, "image"), with_magic + "tail");
}

TEST(RecordIo, JoinsRecordsThatAreInParts) {
  const TempDir dir;
  const std::vector<std::string> records = {
      "1234" + kMagicText + "5678",
      kMagicText,
      kMagicText + kMagicText + "x",
      "12" + kMagicText + "34",  // not at a multiple of 4
      "",
      "1234" + kMagicText,
  };
  RecordIoBuilder builder;
  for (const std::string& record : records) builder.add(record);
  write_file(dir / "a.rec", builder.file());
  write_file(dir / "a.idx", builder.idx());
  const auto source = open_recordio(dir / "a.rec");
  EXPECT_THAT(fields_of(*source), ElementsAre("'data' bytes", "'id' string with column"));
  ASSERT_EQ(source->splits()[0].num_samples, std::ssize(records));
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(bytes_in(*source, static_cast<int64_t>(i), "data"), records[i]) << i;
    EXPECT_EQ(id_in(*source, static_cast<int64_t>(i)), std::to_string(i));
  }
}

TEST(RecordIo, JoinsPicturesThatAreInParts) {
  const TempDir dir;
  const std::string picture = jpeg_picture(1) + std::string(4, '\0');
  const std::string padded = picture.substr(0, picture.size() / 4 * 4) + kMagicText + "end";
  write_file(dir / "a.rec", RecordIoBuilder().add_image({2}, 1, padded).file());
  const auto source = open_recordio(dir.path());
  EXPECT_EQ(bytes_in(*source, 0, "image"), padded);
  EXPECT_EQ(label_in(*source, 0), 2);
}

TEST(RecordIo, KeepsSeveralLabels) {
  const TempDir dir;
  write_file(dir / "a.rec", RecordIoBuilder()
                                .add_image({0.5F, 2, -7}, 0, jpeg_picture(1), 5)
                                .add_image({4}, 0, jpeg_picture(2))
                                .file());
  const auto source = open_recordio(dir.path());
  EXPECT_THAT(fields_of(*source),
              ElementsAre("'image' image", "'labels' tensor f32", "'id2' scalar u64 with column",
                          "'id' string with column"));
  const Schema schema = source->schema();
  const auto first = record_of(*source, 0, 0);
  EXPECT_THAT(values_of<float>(RecordView(schema, first).tensor(1)), ElementsAre(0.5F, 2, -7));
  const auto second = record_of(*source, 0, 1);
  EXPECT_THAT(values_of<float>(RecordView(schema, second).tensor(1)), ElementsAre(4));
  EXPECT_EQ(id_in(*source, 1), "a.rec: 1");
}

TEST(RecordIo, TakesALabelInAnArrayOfOne) {
  const TempDir dir;
  const std::string record =
      RecordIoBuilder::image({}, 1, "").replace(0, 4, std::string("\1\0\0\0", 4)) +
      RecordIoBuilder::bytes_of(6.0F) + jpeg_picture(1);
  write_file(dir / "a.rec", RecordIoBuilder().add(record).file());
  EXPECT_EQ(label_in(*open_recordio(dir.path()), 0), 6);
}

TEST(RecordIo, KeepsLabelsThatAreNoClasses) {
  for (const float label : {0.25F, -2.0F, 16777218.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    const TempDir dir;
    write_file(dir / "a.rec", RecordIoBuilder()
                                  .add_image({1}, 1, jpeg_picture(1))
                                  .add_image({label}, 2, jpeg_picture(2))
                                  .file());
    const auto source = open_recordio(dir.path());
    const Schema schema = source->schema();
    EXPECT_EQ(schema.fields[1].dtype, DType::f32);
    EXPECT_THAT(source->notes(), Contains(HasSubstr("the labels are stored as f32")));
    const auto record = record_of(*source, 0, 1);
    const auto found = RecordView(schema, record).scalar<float>(1);
    EXPECT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(label));
  }
}

TEST(RecordIo, TakesNamesOfTheListWhereTheyFit) {
  const TempDir dir;
  write_file(dir / "a.rec", RecordIoBuilder()
                                .add_image({1}, 10, jpeg_picture(1))
                                .add_image({0}, 5, jpeg_picture(2))
                                .file());
  write_file(dir / "a.lst",
             "5\t0.000000\tcat/a b.jpg\n10\t1.000000\tdog/c.jpg\r\n11\t1\tlost.jpg\n");
  const auto source = open_recordio(dir.path());
  EXPECT_THAT(fields_of(*source),
              ElementsAre("'image' image", "'label' scalar i64 with column",
                          "'record_id' scalar u64 with column", "'id' string with column"));
  EXPECT_EQ(id_in(*source, 0), "dog/c.jpg");
  EXPECT_EQ(id_in(*source, 1), "cat/a b.jpg");
  write_file(dir / "a.lst", "5\t0\ta.jpg\n10\t2\tc.jpg\n");
  const auto other = open_recordio(dir.path());
  EXPECT_EQ(id_in(*other, 0), "10");
  EXPECT_THAT(other->notes(),
              Contains(HasSubstr("has other labels for the id 10 than its record")));
  write_file(dir / "a.lst", "5\t0\ta.jpg\n");
  EXPECT_THAT(open_recordio(dir.path())->notes(), Contains(HasSubstr("has no line for the id 10")));
}

TEST(RecordIo, RefusesListsThatAreNone) {
  const TempDir dir;
  write_file(dir / "a.rec", RecordIoBuilder().add_image({1}, 10, jpeg_picture(1)).file());
  for (const char* text :
       {"10\t1\n", "x\t1\ta.jpg\n", "10\tone\ta.jpg\n", "10\t1\ta\n10\t1\tb\n"}) {
    write_file(dir / "a.lst", text);
    EXPECT_ERROR(open_recordio(dir.path()), invalid_argument, .subject = source);
  }
}

TEST(RecordIo, ChecksTheIndexAgainstTheRecords) {
  const TempDir dir;
  const RecordIoBuilder builder = RecordIoBuilder().add("one").add("two");
  write_file(dir / "a.rec", builder.file());
  for (const char* text : {"0\t0\n", "0\t0\n1\t8\n", "0\t0\n1\t0\n", "0 0\n", "0\t0\n1\t999\n"}) {
    write_file(dir / "a.idx", text);
    EXPECT_ERROR(open_recordio(dir.path()), invalid_argument, .subject = source);
  }
  write_file(dir / "a.idx", "b\t12\na\t0\n");
  EXPECT_EQ(id_in(*open_recordio(dir.path()), 1), "b");
}

// As the files of face sets: the first record says where those of the classes are.
TEST(RecordIo, LeavesOutRecordsOfAHeaderAlone) {
  const TempDir dir;
  const RecordIoBuilder builder = RecordIoBuilder()
                                      .add_image({3, 4}, 0, "")
                                      .add_image({5}, 1, jpeg_picture(1))
                                      .add_image({6}, 2, jpeg_picture(2))
                                      .add_image({1, 3}, 3, "");
  write_file(dir / "a.rec", builder.file());
  write_file(dir / "a.idx", builder.idx());
  const auto source = open_recordio(dir.path());
  EXPECT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_EQ(label_in(*source, 1), 6);
  EXPECT_EQ(id_in(*source, 0), "1");
  EXPECT_THAT(source->notes(), Contains(HasSubstr("2 records have only a header")));
}

TEST(RecordIo, TakesPicturesWithoutAHeader) {
  const TempDir dir;
  write_file(dir / "a.rec", RecordIoBuilder().add(jpeg_picture(1)).add(jpeg_picture(2)).file());
  const auto source = open_recordio(dir.path());
  EXPECT_THAT(fields_of(*source), ElementsAre("'image' image", "'id' string with column"));
  EXPECT_EQ(bytes_in(*source, 1, "image"), jpeg_picture(2));
}

TEST(RecordIo, FindsTheRecordsBehindDamage) {
  const TempDir dir;
  const std::string one = RecordIoBuilder().add_image({1}, 1, jpeg_picture(1)).file();
  const std::string two = RecordIoBuilder().add_image({2}, 2, jpeg_picture(2)).file();
  const std::string three = RecordIoBuilder().add_image({3}, 3, jpeg_picture(3)).file();
  const auto changed = [&](size_t at, char bits) {
    std::string damaged = two;
    damaged[at] = static_cast<char>(damaged[at] ^ bits);
    return damaged;
  };
  const auto open = [&](const std::string& damaged) {
    std::string file = one;
    file += damaged;
    file += three;
    file += three;
    write_file(dir / "a.rec", file);
    auto source = open_recordio(dir.path());
    EXPECT_THAT(source->notes(),
                Contains(HasSubstr("1 place is damaged and counts as a bad sample")));
    const int64_t num_rows = source->splits()[0].num_samples;
    EXPECT_EQ(label_in(*source, num_rows - 1), 3);
    EXPECT_EQ(label_in(*source, num_rows - 2), 3);
    return source;
  };
  // Lengths: beyond the file, shorter, into the next record. A first part without others.
  for (const std::string& damaged :
       {changed(6, '\x77'), changed(5, '\2'), changed(5, '\1'), changed(7, '\x20')}) {
    const auto source = open(damaged);
    ASSERT_EQ(source->splits()[0].num_samples, 4);
    EXPECT_EQ(label_in(*source, 0), 1);
    EXPECT_ERROR(record_of(*source, 0, 1), corrupt);
  }
  // The magic, and a part that cannot be the first: the record before may have a wrong length.
  for (const std::string& damaged : {changed(0, '\1'), changed(7, '\x40')}) {
    const auto source = open(damaged);
    ASSERT_EQ(source->splits()[0].num_samples, 3);
    EXPECT_ERROR(record_of(*source, 0, 0), corrupt);
  }
}

TEST(RecordIo, RefusesALengthThatTakesInOtherRecords) {
  const TempDir dir;
  const std::string inside = RecordIoBuilder().add("one").file();
  write_file(dir / "a.rec", RecordIoBuilder::part(0, "zero" + inside) + inside);
  const auto source = open_recordio(dir.path());
  ASSERT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_ERROR(record_of(*source, 0, 0), corrupt);
  EXPECT_EQ(bytes_in(*source, 1, "data"), "one");
}

TEST(RecordIo, ReadsWhatIsLeftOfACutFile) {
  const TempDir dir;
  const std::string one = RecordIoBuilder().add_image({1}, 1, jpeg_picture(1)).file();
  const std::string two = RecordIoBuilder().add_image({2}, 2, jpeg_picture(2)).file();
  write_file(dir / "a.rec", one + one + two.substr(0, two.size() - 5));
  const auto cut = open_recordio(dir.path());
  ASSERT_EQ(cut->splits()[0].num_samples, 3);
  EXPECT_EQ(label_in(*cut, 1), 1);
  EXPECT_ERROR(record_of(*cut, 0, 2), corrupt);
  write_file(dir / "a.rec", one + two.substr(0, two.size() - 2));  // in its padding
  EXPECT_EQ(label_in(*open_recordio(dir.path()), 1), 2);
}

TEST(RecordIo, SkipsDamageWhereThatIsAskedFor) {
  const TempDir dir;
  const TempDir out;
  const std::string file = RecordIoBuilder()
                               .add_image({1}, 1, jpeg_picture(1))
                               .add_image({2}, 2, "no picture")
                               .add_image({2}, 3, jpeg_picture(2))
                               .file();
  write_file(dir / "a.rec", file.substr(0, file.size() - 40));
  const auto source = open_recordio(dir.path());
  const ConvertSummary summary =
      convert(*source, out / "set", {.order = Order::sequential, .bad_samples = BadSamples::skip});
  EXPECT_EQ(summary.splits[0].num_records, 1);
  EXPECT_EQ(summary.num_skipped(), 2);
}

TEST(RecordIo, RefusesFilesOfOtherKinds) {
  const TempDir dir;
  write_file(dir / "a.rec", "hello, world");
  EXPECT_ERROR(open_recordio(dir.path()), unsupported, .subject = source);
  write_file(dir / "a.rec", jpeg_picture(1));
  EXPECT_ERROR(open_recordio(dir.path()), unsupported, .subject = source);
  write_file(dir / "a.rec", "");
  EXPECT_ERROR(open_recordio(dir.path()), not_found, .subject = source);
}

TEST(RecordIo, RefusesRecordsThatAreNoPictures) {
  const TempDir dir;
  std::string long_labels = RecordIoBuilder::image({}, 1, std::string(8, 'x'));
  long_labels[0] = 3;
  write_file(dir / "a.rec", RecordIoBuilder()
                                .add_image({1}, 1, jpeg_picture(1))
                                .add_image({1}, 2, jpeg_picture(1))
                                .add_image({1}, 3, jpeg_picture(1))
                                .add_image({1}, 4, jpeg_picture(1))
                                .add("short")
                                .add(long_labels)
                                .add_image({1, 2}, 3, "no picture")
                                .file());
  const auto source = open_recordio(dir.path(), {.max_sample_bytes = 4096});
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("3 records have another form and count as bad samples")));
  for (int64_t row = 4; row < 7; ++row) EXPECT_ERROR(record_of(*source, 0, row), corrupt);
}

TEST(RecordIo, RefusesRecordsBeyondTheLimit) {
  const TempDir dir;
  const std::string in_parts = std::string(1000, 'x') + kMagicText + std::string(1000, 'y');
  write_file(dir / "a.rec", RecordIoBuilder().add(std::string(1100, 'x')).add(in_parts).file());
  const auto source = open_recordio(dir.path(), {.max_sample_bytes = 1024});
  EXPECT_ERROR(record_of(*source, 0, 0), unsupported);
  EXPECT_ERROR(record_of(*source, 0, 1), unsupported);
}

TEST(RecordIo, ReadsCompressedFiles) {
  const TempDir dir;
  const std::string file = RecordIoBuilder().add_image({1}, 10, jpeg_picture(1)).file();
  const gzFile out = gzopen((dir / "a.rec.gz").c_str(), "wb");
  gzwrite(out, file.data(), static_cast<unsigned>(file.size()));
  gzclose(out);
  write_file(dir / "a.lst", "10\t1\tname\n");
  EXPECT_EQ(id_in(*open_recordio(dir.path()), 0), "name");
}

}  // namespace
}  // namespace ffkit
