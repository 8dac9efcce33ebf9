#include "rows/lmdb_builder.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

using testing::DatumBuilder;
using testing::LmdbBuilder;

// The first field and the id of a row.
std::pair<std::string, std::string> lmdb_row(const Source& source, int64_t row, size_t split = 0) {
  const Schema schema = source.schema();
  const auto record = record_of(source, split, row);
  const RecordView view(schema, record);
  return {text_of(view.field(0).raw()), std::string(view.string(schema.fields.size() - 1))};
}

int64_t lmdb_label(const Source& source, int64_t row) {
  const Schema schema = source.schema();
  const auto record = record_of(source, 0, row);
  return RecordView(schema, record).scalar<int64_t>(1);
}

TEST(Lmdb, ReadsTheFoldersOfLsun) {
  const TempDir dir;
  write_file(dir / "tower_train_lmdb/data.mdb", LmdbBuilder().add("a", jpeg_picture(1)).file());
  write_file(dir / "bridge_train_lmdb/data.mdb",
             LmdbBuilder().add("b", jpeg_picture(2)).add("c", jpeg_picture(3)).file());
  write_file(dir / "bridge_val_lmdb/data.mdb", LmdbBuilder().add("d", jpeg_picture(4)).file());
  const auto source = open_lmdb(dir.path());
  EXPECT_EQ(source->schema(), image_classification_schema());
  EXPECT_THAT(source->classes(), ElementsAre("bridge", "tower"));
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].num_samples, 3);
  EXPECT_EQ(lmdb_row(*source, 0), std::pair(jpeg_picture(2), std::string("b")));
  EXPECT_EQ(lmdb_row(*source, 2), std::pair(jpeg_picture(1), std::string("a")));
  EXPECT_EQ(lmdb_label(*source, 1), 0);
  EXPECT_EQ(lmdb_label(*source, 2), 1);
  EXPECT_EQ(lmdb_row(*source, 0, 1).second, "d");
  // LSUN's pictures to test have no class.
  write_file(dir / "test_lmdb/data.mdb", LmdbBuilder().add("e", jpeg_picture(5)).file());
  const auto with_test = open_lmdb(dir.path());
  EXPECT_THAT(with_test->classes(), ElementsAre("bridge", "tower"));
  ASSERT_EQ(with_test->splits()[1].name, "test");
  const Schema schema = with_test->schema();
  const auto record = record_of(*with_test, 1, 0);
  EXPECT_EQ(RecordView(schema, record).scalar<int64_t>(1), -1);
  // Another name: then nothing is known of classes.
  write_file(dir / "others/data.mdb", LmdbBuilder().add("e", jpeg_picture(5)).file());
  EXPECT_TRUE(open_lmdb(dir.path())->classes().empty());
}

TEST(Lmdb, ReadsAllLeavesInTheirOrder) {
  const TempDir dir;
  LmdbBuilder builder;
  builder.add("a", "first").add("b", std::string(1000, 'x')).leaf();
  builder.add("k1", "").leaf();
  builder.add("k2", "last").leaf();
  write_file(dir / "any/data.mdb", builder.file());
  const auto source = open_lmdb(dir / "any");
  ASSERT_EQ(source->splits()[0].num_samples, 4);
  EXPECT_EQ(lmdb_row(*source, 0), std::pair(std::string("first"), std::string("a")));
  EXPECT_EQ(lmdb_row(*source, 1), std::pair(std::string(1000, 'x'), std::string("b")));
  EXPECT_EQ(lmdb_row(*source, 2), std::pair(std::string(), std::string("k1")));
  EXPECT_EQ(lmdb_row(*source, 3), std::pair(std::string("last"), std::string("k2")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("the values are read as bytes, because they")));
  const auto texts = open_lmdb(dir / "any", {.value = LmdbValue::text});
  EXPECT_EQ(texts->schema().fields[0].type, FieldType::string);
  EXPECT_EQ(open_lmdb(dir / "any/data.mdb")->splits()[0].num_samples, 4);
}

TEST(Lmdb, ReadsAFileOfLiblmdb) {
  const auto source =
      open_lmdb(std::string(FFKIT_GOLDEN_FOLDER) + "/other_libraries/liblmdb.mdb.gz");
  ASSERT_EQ(source->splits()[0].num_samples, 201);
  int64_t row = 0;
  for (int i = 0; i < 300; ++i) {
    if (i % 3 == 0) continue;
    std::string value;
    for (int copy = 0; copy < i % 40; ++copy) value += "value " + std::to_string(i) + " ";
    const std::string number = std::to_string(1000 + i).substr(1);
    EXPECT_EQ(lmdb_row(*source, row++), std::pair(value, "key " + number));
  }
  EXPECT_EQ(lmdb_row(*source, row), std::pair(std::string(10000, 'x'), std::string("long")));
}

TEST(Lmdb, KeysBecomeIds) {
  const TempDir dir;
  LmdbBuilder builder;
  builder.flags = 8;  // MDB_INTEGERKEY
  builder.add(LmdbBuilder::number(uint64_t{7}), "x").add(LmdbBuilder::number(uint64_t{300}), "y");
  write_file(dir / "numbers.mdb", builder.file());
  EXPECT_EQ(lmdb_row(*open_lmdb(dir / "numbers.mdb"), 1).second, "300");
  write_file(dir / "bytes.mdb", LmdbBuilder().add("\xFF\x01", "x").file());
  EXPECT_EQ(lmdb_row(*open_lmdb(dir / "bytes.mdb"), 0).second, "0xff01");
}

TEST(Lmdb, ReadsDatumMessagesOfPictures) {
  const TempDir dir;
  write_file(
      dir / "train.lmdb",
      LmdbBuilder()
          .add("0", DatumBuilder().shape(3, 1, 2).data("BbGgRr").label(4).message())
          .add("1", DatumBuilder().shape(1, 1, 2).data("xy").label(0).message())
          .add("2", DatumBuilder().data(jpeg_picture(1)).number(7, 1).label(UINT64_MAX).message())
          .add("3", DatumBuilder().shape(2, 1, 1).data("no").label(0).message())
          .add("4", DatumBuilder().shape(3, 1, 1).data("few").bytes(9, "unknown").message())
          .file());
  const auto source = open_lmdb(dir / "train.lmdb");
  EXPECT_EQ(source->schema(), image_classification_schema());
  EXPECT_EQ(lmdb_row(*source, 0).first, "P6\n2 1\n255\nRGBrgb");
  EXPECT_EQ(lmdb_row(*source, 2).first, jpeg_picture(1));
  EXPECT_EQ(lmdb_label(*source, 0), 4);
  EXPECT_EQ(lmdb_label(*source, 2), -1);
  EXPECT_ERROR(record_of(*source, 0, 3), corrupt);
  EXPECT_ERROR(record_of(*source, 0, 4), invalid_argument);  // without a label
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 other value is a bad sample: '3'")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("3 pictures have raw pixels")));
  const auto rgb = open_lmdb(dir / "train.lmdb", {.is_rgb = true});
  EXPECT_EQ(lmdb_row(*rgb, 0).first, "P6\n2 1\n255\nBGRbgr");
}

TEST(Lmdb, ReadsDatumMessagesOfArrays) {
  const TempDir dir;
  write_file(dir / "u8.mdb",
             LmdbBuilder()
                 .add("0", DatumBuilder().shape(2, 1, 3).data("abcdef").label(1).message())
                 .file());
  const auto numbers = open_lmdb(dir / "u8.mdb");
  const auto first = record_of(*numbers, 0, 0);
  const Schema with_label = numbers->schema();
  const TensorView tensor = RecordView(with_label, first).tensor(with_label.require("data"));
  EXPECT_THAT(tensor.shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(text_of(tensor.data), "abcdef");
  // Not packed, as protobuf 2 writes them, and packed.
  const std::string packed = LmdbBuilder::number(0.5F) + LmdbBuilder::number(-2.0F);
  write_file(dir / "f32.mdb",
             LmdbBuilder()
                 .add("0", DatumBuilder().shape(1, 1, 2).number_f32(0.5F).number_f32(-2).message())
                 .add("1", DatumBuilder().shape(1, 2, 1).bytes(6, packed).message())
                 .add("2", DatumBuilder().shape(1, 2, 2).bytes(6, packed).message())
                 .file());
  const auto floats = open_lmdb(dir / "f32.mdb");
  const Schema schema = floats->schema();
  for (const int64_t row : {0, 1}) {
    const auto record = record_of(*floats, 0, row);
    EXPECT_THAT(values_of<float>(RecordView(schema, record).tensor(0)), ElementsAre(0.5F, -2));
  }
  EXPECT_EQ(schema.fields.size(), 2U);  // no label
  EXPECT_ERROR(record_of(*floats, 0, 2), corrupt);
}

TEST(Lmdb, LeavesOutWhatScriptsKeepBeside) {
  const TempDir dir;
  write_file(dir / "a.mdb", LmdbBuilder()
                                .add("0", jpeg_picture(1))
                                .add("__len__", "\x80\x03K\x01.")
                                .add("num-samples", "1")
                                .file());
  const auto source = open_lmdb(dir / "a.mdb");
  EXPECT_EQ(source->splits()[0].num_samples, 1);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("left out: '__len__', 'num-samples'")));
  EXPECT_EQ(open_lmdb(dir / "a.mdb", {.value = LmdbValue::bytes})->splits()[0].num_samples, 3);
}

std::string_view lmdb_text(const Schema& schema, const std::vector<std::byte>& record,
                           const char* field) {
  return RecordView(schema, record).string(static_cast<size_t>(schema.index_of(field)));
}

TEST(Lmdb, EntriesWithTheSameNumberAreASample) {
  const TempDir dir;
  const auto write = [&](const char* name, auto... entries) {
    LmdbBuilder builder;
    (builder.add(entries.first, entries.second), ...);
    write_file(dir / name, builder.file());
    return open_lmdb(dir / name);
  };
  using Entry = std::pair<std::string, std::string>;
  const auto source =
      write("words.mdb", Entry("image-000000001", jpeg_picture(1)),
            Entry("image-000000002", jpeg_picture(2)), Entry("label-000000001", "word"),
            Entry("label-000000003", "lost"), Entry("num-samples", "2"));
  const Schema schema = source->schema();
  ASSERT_EQ(source->splits()[0].num_samples, 3);
  auto record = record_of(*source, 0, 0);
  EXPECT_EQ(lmdb_row(*source, 0), std::pair(jpeg_picture(1), std::string("000000001")));
  EXPECT_EQ(lmdb_text(schema, record, "label"), "word");
  record = record_of(*source, 0, 1);
  EXPECT_TRUE(RecordView(schema, record).is_null(static_cast<size_t>(schema.index_of("label"))));
  EXPECT_ERROR(record_of(*source, 0, 2), invalid_argument);  // without a picture
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("'num-samples' says 2, but there are 3 samples")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 sample has no picture")));
  // The number may come first; what is no text stays bytes.
  const auto suffixes =
      write("suffixes.mdb", Entry("1.jpg", jpeg_picture(1)), Entry("1.txt", "\xFF\xFE"));
  EXPECT_EQ(suffixes->schema().fields[1].type, FieldType::bytes);
  // Two words of pictures, or one word alone, are samples of their own.
  EXPECT_EQ(write("both.mdb", Entry("img-1", jpeg_picture(1)), Entry("mask-1", jpeg_picture(2)))
                ->splits()[0]
                .num_samples,
            2);
  EXPECT_EQ(write("one.mdb", Entry("img-1", jpeg_picture(1)))->splits()[0].num_samples, 1);
}

TEST(Lmdb, TakesTheDatabaseThatIsAskedFor) {
  const TempDir dir;
  LmdbBuilder builder;
  const uint64_t one = builder.add("a", "first").leaf();
  const uint64_t two = builder.add("b", "second").add("c", "third").leaf();
  builder.add("one", LmdbBuilder::tree(0, 1, one), 2)
      .add("two", LmdbBuilder::tree(0, 2, two), 2)
      .leaf();
  builder.leaves_are_main = false;
  builder.set_num_entries(2);
  write_file(dir / "a.mdb", builder.file());
  EXPECT_ERROR(open_lmdb(dir / "a.mdb"), unsupported);
  const auto source = open_lmdb(dir / "a.mdb", {.database = "two"});
  ASSERT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_EQ(lmdb_row(*source, 1), std::pair(std::string("third"), std::string("c")));
  EXPECT_EQ(open_lmdb(dir / "a.mdb", {.database = "one"})->splits()[0].num_samples, 1);
  EXPECT_ERROR(open_lmdb(dir / "a.mdb", {.database = "three"}), not_found);
}

TEST(Lmdb, RefusesWhatItCannotTake) {
  const TempDir dir;
  const auto refuse = [&](LmdbBuilder builder) {
    write_file(dir / "a.mdb", builder.file());
    EXPECT_ERROR(open_lmdb(dir / "a.mdb"), unsupported, .subject = source);
  };
  refuse(LmdbBuilder().add("0", "\x80\x03K\x01."));
  refuse(LmdbBuilder().add("0", "two values", 4));
  const std::string tree = LmdbBuilder::tree(0, 0, ~uint64_t{0});
  refuse(LmdbBuilder().add("one", tree, 2).add("two", tree, 2));
  refuse(LmdbBuilder().add("entry", "value").add("one", tree, 2));
  LmdbBuilder newer;
  newer.version = 2;
  refuse(newer);
  for (const std::string& file :
       {jpeg_picture(1), std::string(1000, 'x'), std::string(),
        std::string(12, '\0') + LmdbBuilder::number(0xBEEFC0DEU) + std::string(200, '\0'),
        std::string(16, '\0') + LmdbBuilder::number(0xDEC0EFBEU) + std::string(200, '\0')}) {
    write_file(dir / "a.mdb", file);
    EXPECT_ERROR(open_lmdb(dir / "a.mdb"), unsupported, .subject = source);
  }
}

TEST(Lmdb, RefusesTreesThatCannotBe) {
  const TempDir dir;
  const auto refuse = [&](const std::string& file) {
    write_file(dir / "a.mdb", file);
    EXPECT_ERROR(open_lmdb(dir / "a.mdb"), corrupt, .subject = source);
  };
  LmdbBuilder more;
  more.add("0", "x").more_entries = 1;
  refuse(more.file());
  LmdbBuilder sizes;
  sizes.add("0", "x").page_bytes = 1000;
  refuse(sizes.file());
  refuse(LmdbBuilder().add("one", "no tree", 2).file());
  LmdbBuilder builder;
  builder.add("a", "x").leaf();
  builder.add("k", "y").leaf();
  const std::string whole = builder.file();
  constexpr size_t kPage = LmdbBuilder::kPageBytes;
  const size_t branch = whole.size() - kPage;
  const auto changed = [&](size_t at, const std::string& text) {
    std::string file = whole;
    return file.replace(at, text.size(), text);
  };
  refuse(whole.substr(0, branch));
  refuse(changed(2 * kPage, "\x09"));                    // its number
  refuse(changed(2 * kPage + 10, "\x04"));               // neither leaf nor branch
  refuse(changed(2 * kPage + 12, std::string("\2\3")));  // more nodes than fit in
  refuse(changed(2 * kPage + 12, std::string("\1\0", 2)));
  refuse(changed(2 * kPage + 16, "\xFF\xFF"));  // a node outside of the page
  refuse(changed(whole.size() - 8, "\4"));      // the branch itself, again
  const size_t node = 3 * kPage - 10;
  refuse(changed(node, "\xFF"));      // a value beyond the page
  refuse(changed(node + 6, "\xFF"));  // a key beyond the page
}

TEST(Lmdb, AValueThatIsCutIsABadSample) {
  const TempDir dir;
  std::string file = LmdbBuilder().add("a", jpeg_picture(1)).file();
  // The node is the last one of the last page: length, flags, length of the key, key, page, a zero.
  const size_t node = file.size() - 18;
  file[node + 2] = 1;  // 64 KiB more
  write_file(dir / "a.mdb", file);
  EXPECT_ERROR(record_of(*open_lmdb(dir / "a.mdb"), 0, 0), corrupt);
  const auto limited = open_lmdb(dir / "a.mdb", {.rows = {.max_sample_bytes = 1024}});
  EXPECT_ERROR(record_of(*limited, 0, 0), unsupported);
}

TEST(Lmdb, TakesFilesAndListsOfThem) {
  const TempDir dir;
  write_file(dir / "set_train_0.mdb", LmdbBuilder().add("a", "x").file());
  write_file(dir / "set_train_1.mdb", LmdbBuilder().add("b", "y").file());
  write_file(dir / "set_val_0.lmdb", LmdbBuilder().add("c", "z").file());
  write_file(dir / "lock.mdb", "");
  const auto folder = open_lmdb(dir.path());
  ASSERT_EQ(folder->splits().size(), 2U);
  EXPECT_EQ(folder->splits()[0].name, "train");
  EXPECT_EQ(folder->splits()[0].num_samples, 2);
  EXPECT_EQ(folder->splits()[1].name, "val");
  EXPECT_EQ(folder->describe(0, 1), (dir / "set_train_1.mdb").string() + ": 0");
  const auto list = open_lmdb(dir / "set_train_{0..1}.mdb");
  EXPECT_EQ(lmdb_row(*list, 1), std::pair(std::string("y"), std::string("b")));
}

TEST(Lmdb, RefusesFoldersWithoutOne) {
  const TempDir dir;
  write_file(dir / "lock.mdb", "");
  write_file(dir / "folder/other.txt", "");
  EXPECT_ERROR(open_lmdb(dir.path()), not_found, .subject = source);
  EXPECT_ERROR(open_lmdb(dir / "none"), not_found, .subject = source);
  write_file(dir / "empty/data.mdb", LmdbBuilder().file());
  EXPECT_ERROR(open_lmdb(dir / "empty"), not_found, .subject = source);
}

}  // namespace
}  // namespace ffkit
