#include "rows/mds_builder.h"
#include "sources/files/file_window.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

using testing::bytes_of_number;
using testing::MdsBuilder;
using testing::pillow_picture;
using testing::raw_zstd;
using testing::sizes_and_items;
using testing::u32s;

// One column `x`.
MdsBuilder one_column(const std::string& encoding, int num_bytes = 0) {
  return MdsBuilder().add_column("x", encoding, num_bytes);
}

// A folder with one shard of one column, whose values are given.
class OneColumn {
 public:
  OneColumn(const std::string& encoding, const std::vector<std::string>& values,
            int num_bytes = 0) {
    const MdsBuilder builder = one_column(encoding, num_bytes);
    std::vector<std::string> rows;
    rows.reserve(values.size());
    for (const std::string& value : values) rows.push_back(builder.row({value}));
    builder.write(dir_.path(), rows);
    source_ = open_mds(dir_.path());
  }
  const Source& source() const { return *source_; }
  std::vector<std::byte> record(int64_t row, std::vector<SampleProblem>* problems = nullptr) const {
    return record_of(*source_, 0, row, problems);
  }

 private:
  TempDir dir_;
  std::unique_ptr<Source> source_;
};

TEST(Mds, ColumnsBecomeFields) {
  const TempDir dir;
  const std::string jpeg = jpeg_picture(1);
  const MdsBuilder builder = MdsBuilder()
                                 .add_column("half", "float16", 2)
                                 .add_column("image", "jpeg")
                                 .add_column("json", "json")
                                 .add_column("n", "ndarray:uint16")
                                 .add_column("text", "str")
                                 .add_column("y", "int", 8);
  builder.write(dir.path(), {builder.row({bytes_of_number<uint16_t>(0x3C00), jpeg, "[1, null]",
                                          std::string("\x08\x02\x01", 3) + "abcd", "a\xC3\xA9",
                                          bytes_of_number<int64_t>(7)})});
  const auto source = open_mds(dir.path());
  const Schema schema = source->schema();
  EXPECT_THAT(fields_of(*source),
              ElementsAre("'image' image", "'label' scalar i64 with column",
                          "'half' scalar f16 with column", "'json' string", "'n' tensor u16",
                          "'text' string", "'id' string with column"));
  const std::vector<std::byte> bytes = record_of(*source, 0, 0);
  const RecordView record(schema, bytes);
  EXPECT_EQ(text_of(record.bytes(0)), jpeg);
  EXPECT_EQ(record.scalar<int64_t>(1), 7);
  EXPECT_EQ(record.string(3), "[1, null]");
  EXPECT_THAT(record.tensor(4).shape, ElementsAre(2, 1));
  EXPECT_EQ(text_of(record.tensor(4).data), "abcd");
  EXPECT_EQ(record.string(6), "shard.00000.mds: 0");
}

TEST(Mds, TextsOfNumbersBecomeNumbers) {
  const OneColumn integers("str_int", {"-7", "99999999999999999999", "7 "});
  EXPECT_EQ(RecordView(integers.source().schema(), integers.record(0)).scalar<int64_t>(0), -7);
  EXPECT_ERROR(integers.record(1), unsupported);
  EXPECT_ERROR(integers.record(2), corrupt);
  const OneColumn reals("str_float", {"1e-3", "nan", "-inf"});
  EXPECT_EQ(RecordView(reals.source().schema(), reals.record(0)).scalar<double>(0), 1e-3);
  EXPECT_TRUE(std::isnan(RecordView(reals.source().schema(), reals.record(1)).scalar<double>(0)));
  EXPECT_TRUE(std::isinf(RecordView(reals.source().schema(), reals.record(2)).scalar<double>(0)));
}

TEST(Mds, PillowsPixelsBecomePictures) {
  const OneColumn pictures(
      "pil", {pillow_picture(2, 1, "RGB", "abcdef"), pillow_picture(2, 1, "RGBA", "abcXdefX"),
              pillow_picture(2, 1, "P", "ab"), pillow_picture(9, 1, "1", "\xA0\x80"),
              pillow_picture(1, 1, "I;16B", "\x01\x02"), pillow_picture(1, 1, "I", u32s({70000})),
              pillow_picture(2, 1, "CMYK", "abcdefgh"), pillow_picture(2, 2, "RGB", "abcdef"),
              pillow_picture(0, 2, "RGB", ""), pillow_picture(0xFFFFFFFF, 0xFFFFFFFF, "L", "a")});
  const Schema schema = pictures.source().schema();
  std::vector<SampleProblem> problems;
  const auto rgb = pictures.record(0, &problems);
  EXPECT_EQ(text_of(RecordView(schema, rgb).bytes(0)), "P6\n2 1\n255\nabcdef");
  EXPECT_TRUE(problems.empty());
  const auto rgba = pictures.record(1, &problems);
  EXPECT_EQ(text_of(RecordView(schema, rgba).bytes(0)), "P6\n2 1\n255\nabcdef");
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].action, "stored without its alpha");
  const auto palette = pictures.record(2, &problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].action, HasSubstr("file has no palette"));
  ImageDecoder decoder;
  const auto pixels = [&](const std::vector<std::byte>& record, int x) {
    return static_cast<int>(decoder.decode(RecordView(schema, record).bytes(0)).data[3 * x]);
  };
  EXPECT_EQ(pixels(palette, 1), 'b');
  const auto bits = pictures.record(3);
  EXPECT_THAT(std::vector({pixels(bits, 0), pixels(bits, 1), pixels(bits, 2), pixels(bits, 8)}),
              ElementsAre(255, 0, 255, 255));
  EXPECT_EQ(pixels(pictures.record(4), 0), 1);  // the high byte
  for (const int64_t row : {5, 6}) EXPECT_ERROR(pictures.record(row), unsupported);
  for (const int64_t row : {7, 8, 9}) EXPECT_ERROR(pictures.record(row), corrupt);
}

TEST(Mds, ListsOfPicturesKeepTheirBytes) {
  const std::string a = jpeg_picture(1);
  const std::string b = jpeg_picture(2);
  const OneColumn arrays("jpeg_array",
                         {u32s({2}) + sizes_and_items({a, b}), u32s({0xFFFFFFFF}) + "abcd",
                          u32s({1, 9}) + "short", u32s({1, 1}) + "too long"});
  const std::vector<std::byte> record = arrays.record(0);
  const Schema schema = arrays.source().schema();
  const ListView list = RecordView(schema, record).list(0);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(text_of(list.bytes(1)), b);
  for (const int64_t row : {1, 2, 3}) EXPECT_ERROR(arrays.record(row), corrupt);
  const OneColumn lists("list[jpeg]", {u32s({0, 1}) + sizes_and_items({a}), u32s({0, 0})});
  EXPECT_EQ(RecordView(lists.source().schema(), lists.record(0)).list(0).size(), 1U);
  EXPECT_EQ(RecordView(lists.source().schema(), lists.record(1)).list(0).size(), 0U);
  const OneColumn raw("list[pil]",
                      {u32s({0, 1}) + sizes_and_items({pillow_picture(1, 1, "RGB", "abc")})});
  const std::vector<std::byte> pixels = raw.record(0);
  EXPECT_EQ(text_of(RecordView(raw.source().schema(), pixels).list(0).bytes(0)),
            "P6\n1 1\n255\nabc");
}

TEST(Mds, ArraysWithoutATypeAreOfTheFirstSamples) {
  // The first two cannot be read; the third says i16.
  const OneColumn arrays(
      "ndarray",
      {"", "\x07", std::string("\x11\x04\x02", 3) + "abcd", std::string("\x08\x04\x02", 3) + "ab",
       std::string("\x11\x04\x03", 3) + "abcd", "\x11\x07" + std::string(7, '\xFF') + "\x7F"});
  const Schema schema = arrays.source().schema();
  EXPECT_EQ(schema.fields[0].dtype, DType::i16);
  EXPECT_THAT(arrays.source().notes(),
              Contains(HasSubstr("ffkit uses i16, the type in the first sample")));
  EXPECT_THAT(RecordView(schema, arrays.record(2)).tensor(0).shape, ElementsAre(2));
  for (const int64_t row : {0, 1, 4, 5}) EXPECT_ERROR(arrays.record(row), corrupt);
  EXPECT_ERROR(arrays.record(3), unsupported);
  EXPECT_ERROR(OneColumn("ndarray", {"", "\x07"}), corrupt, .subject = source);
}

TEST(Mds, ArraysOfOneShapeHaveNoHeader) {
  const OneColumn arrays("ndarray:uint8:2,3", {"abcdef"}, 6);
  EXPECT_THAT(RecordView(arrays.source().schema(), arrays.record(0)).tensor(0).shape,
              ElementsAre(2, 3));
}

TEST(Mds, ValuesOfTheWrongSizeAreBadSamples) {
  const TempDir dir;
  const MdsBuilder builder = one_column("int32", 4).add_column("y", "str");
  builder.write(dir.path(), {builder.row({"abcd", "z"}), builder.row({"abcd", "z"}) + "more",
                             builder.row({"abcd", "z"}).substr(0, 6), u32s({0xFFFFFFFF}) + "abcd",
                             builder.row({"abcd", "\xFF"})});
  const auto source = open_mds(dir.path());
  EXPECT_EQ(record_of(*source, 0, 0).empty(), false);
  for (const int64_t row : {1, 2, 3, 4}) EXPECT_ERROR(record_of(*source, 0, row), corrupt);
  const OneColumn wide("int32", {"abcdefgh"}, 8);
  EXPECT_ERROR(wide.record(0), corrupt);
}

TEST(Mds, HashesAreComparedWhereThatIsAsked) {
  const TempDir dir;
  MdsBuilder builder;
  builder.add_column("x", "int", 8);
  const std::string shard = MdsBuilder::shard({bytes_of_number(int64_t{7})});
  write_file(dir / "shard.00000.mds", shard);
  const auto write_index = [&](const std::string& hashes) {
    write_file(dir / "index.json",
               MdsBuilder::index({builder.entry("shard.00000.mds", std::ssize(shard), 1, "null",
                                                "null", hashes)}));
  };
  const auto read = [&](int64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), shard.data() + offset, out.size());
  };
  const std::string sha1 = hash_of_file("sha1", std::ssize(shard), read).value();
  write_index(R"("sha1": ")" + sha1 + R"(", "xxh64": "0123456789abcdef")");
  EXPECT_THAT(open_mds(dir.path())->notes(), Contains(HasSubstr("are not checked: sha1")));
  const auto notes = open_mds(dir.path(), {.check_hashes = true})->notes();
  EXPECT_THAT(notes, Contains(HasSubstr("were compared: sha1 of 1 shard")));
  EXPECT_THAT(notes, Contains(HasSubstr("are not checked: xxh64 of 1 shard")));
  write_index(R"("sha1": ")" + std::string(40, '0') + '"');
  EXPECT_NO_THROW(open_mds(dir.path()));
  EXPECT_ERROR(open_mds(dir.path(), {.check_hashes = true}), corrupt, .subject = source);
  write_index("");
  EXPECT_THAT(open_mds(dir.path(), {.check_hashes = true})->notes(),
              Contains(HasSubstr("has no hashes to compare")));
}

TEST(Mds, AShardThatIsListedTwiceIsReadOnce) {
  const TempDir dir;
  MdsBuilder builder;
  builder.add_column("x", "int", 8);
  const std::string shard = MdsBuilder::shard({bytes_of_number(int64_t{7})});
  write_file(dir / "shard.00000.mds", shard);
  const std::string entry = builder.entry("shard.00000.mds", std::ssize(shard), 1);
  fs::create_symlink("shard.00000.mds", dir / "link.mds");
  const std::string link = builder.entry("link.mds", std::ssize(shard), 1);
  write_file(dir / "index.json", MdsBuilder::index({entry, entry, entry, link}));
  const auto source = open_mds(dir.path());
  EXPECT_EQ(source->splits()[0].num_samples, 1);
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("lists link.mds, shard.00000.mds more than once")));
}

TEST(FileHash, IsThatOfTheAlgorithm) {
  const std::string text = "abc";
  const auto hash = [&](const char* algorithm) {
    return hash_of_file(algorithm, 3, [&](int64_t offset, std::span<std::byte> out) {
      std::memcpy(out.data(), text.data() + offset, out.size());
    });
  };
  EXPECT_EQ(hash("md5"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hash("sha1"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hash("xxh64"), std::nullopt);
}

TEST(Mds, PicklesAndUnknownEncodingsAreRefusedOrLeftOut) {
  const TempDir dir;
  for (const char* encoding : {"pkl", "mine", "ndarray:complex64", "ndarray:uint8:0,3"}) {
    const MdsBuilder builder = one_column(encoding).add_column("y", "str");
    builder.write(dir.path(), {builder.row({"a", "b"})});
    EXPECT_ERROR(open_mds(dir.path()), unsupported, .subject = source);
    EXPECT_ERROR(open_mds(dir.path(), {.columns = {"x"}}), unsupported, .subject = source);
    const auto source = open_mds(dir.path(), {.columns = {"y"}});
    EXPECT_THAT(source->notes(),
                Contains(HasSubstr("ffkit leaves out the column 'x', because this column ")));
    EXPECT_EQ(RecordView(source->schema(), record_of(*source, 0, 0)).string(0), "b");
  }
}

TEST(Mds, ShardsThatDoNotFitTheIndexAreErrors) {
  const MdsBuilder builder = one_column("str");
  const std::string row = builder.row({"abc"});
  const std::string shard = MdsBuilder::shard({row, row});
  const auto open = [&](const std::string& file, int64_t num_rows = 2, int64_t num_bytes = -1) {
    const TempDir dir;
    write_file(dir / "s.mds", file);
    const int64_t size = num_bytes < 0 ? static_cast<int64_t>(file.size()) : num_bytes;
    write_file(dir / "index.json", MdsBuilder::index({builder.entry("s.mds", size, num_rows)}));
    (void)open_mds(dir.path());
  };
  open(shard);
  open(shard, 1);                                            // left out, with a note
  EXPECT_ERROR(open(shard, 3), corrupt, .subject = source);  // fewer than counted
  EXPECT_ERROR(open(shard, 1LL << 60), corrupt, .subject = source);
  EXPECT_ERROR(open(shard, 2, 1LL << 60), corrupt, .subject = source);  // of another size
  EXPECT_ERROR(open(shard.substr(0, shard.size() - 1)), corrupt, .subject = source);  // cut
  EXPECT_ERROR(open(shard.substr(0, 10)), corrupt, .subject = source);
  EXPECT_ERROR(open(shard.substr(0, 3)), corrupt, .subject = source);
  EXPECT_ERROR(open(shard + "x"), corrupt, .subject = source);
  EXPECT_ERROR(open(jpeg_picture(1)), corrupt, .subject = source);  // no shard
  EXPECT_ERROR(open(u32s({2, 16, 9, 40}) + std::string(30, 'x')), corrupt, .subject = source);
  EXPECT_ERROR(open(u32s({2, 3, 30, 46}) + std::string(30, 'x')), corrupt, .subject = source);
}

// What MDSWriter made without a size_limit, until it refused it.
TEST(Mds, OffsetsBeyond4GiBAreCompleted) {
  const TempDir dir;
  const MdsBuilder builder = one_column("bytes");
  constexpr int64_t kLarge = (int64_t{1} << 32) - 20;
  const std::string last = builder.row({"the last one"});
  const auto end = static_cast<int64_t>(16 + kLarge + last.size());
  const auto write = [&](uint32_t low_end) {
    write_file(dir / "s.mds", u32s({2, 16, static_cast<uint32_t>(16 + kLarge), low_end}));
    fs::resize_file(dir / "s.mds", static_cast<uintmax_t>(16 + kLarge));  // with a hole
    std::ofstream(dir / "s.mds", std::ios::binary | std::ios::app) << last;
    write_file(dir / "index.json", MdsBuilder::index({builder.entry("s.mds", end, 2)}));
    return open_mds(dir.path());
  };
  const auto source = write(static_cast<uint32_t>(end));
  EXPECT_EQ(source->sample_bytes(0, 0), kLarge);
  const std::vector<std::byte> record = record_of(*source, 0, 1);
  EXPECT_EQ(text_of(RecordView(source->schema(), record).bytes(0)), "the last one");
  EXPECT_ERROR(write(static_cast<uint32_t>(end) + 1), corrupt, .subject = source);
  EXPECT_ERROR(write(static_cast<uint32_t>(end) - 1), corrupt, .subject = source);
}

TEST(Mds, SamplesAndShardsThatTheIndexDoesNotCountAreSaid) {
  const TempDir dir;
  const MdsBuilder builder = one_column("str");
  const std::string row = builder.row({"abc"});
  const std::string shard = MdsBuilder::shard({row, row});
  const auto size = static_cast<int64_t>(shard.size());
  write_file(dir / "a.mds", shard);
  write_file(dir / "index.json", MdsBuilder::index({builder.entry("none.mds", 12, 0),
                                                    builder.entry("a.mds", size, 1)}));
  const auto source = open_mds(dir.path());
  EXPECT_EQ(source->splits().at(0).num_samples, 1);
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("1 samples are left out: they are in its files")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 of 2 files have no samples in index.json")));
  write_file(dir / "index.json", MdsBuilder::index({}));
  EXPECT_ERROR(open_mds(dir.path()), not_found, .subject = source);
}

TEST(Mds, FilesThatAreNotThereAreCounted) {
  const TempDir dir;
  const MdsBuilder builder = one_column("str");
  write_file(dir / "index.json",
             MdsBuilder::index({builder.entry("a.mds", 12, 1), builder.entry("sub/b.mds", 12, 1)}));
  EXPECT_ERROR(open_mds(dir.path()), not_found, .subject = source);
}

TEST(Mds, IndexesOfOtherKindsAreRefused) {
  const TempDir dir;
  const MdsBuilder builder = one_column("str");
  const auto open = [&](const std::string& index) {
    write_file(dir / "index.json", index);
    (void)open_mds(dir.path());
  };
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string index = MdsBuilder::index({builder.entry("a.mds", 12, 1)});
  EXPECT_ERROR(open(""), corrupt, .subject = source);
  EXPECT_ERROR(open("[]"), corrupt, .subject = source);
  EXPECT_ERROR(open("{\"shards\": 5}"), corrupt, .subject = source);
  EXPECT_ERROR(open("{\"shards\": [{}]}"), corrupt, .subject = source);
  EXPECT_ERROR(open("{\"chunks\": []}"), unsupported, .subject = source);
  EXPECT_ERROR(open(replaced(index, "\"samples\": 1", "\"samples\": -1")), corrupt);
  EXPECT_ERROR(open(replaced(index, "\"samples\": 1", "\"samples\": \"1\"")), corrupt);
  EXPECT_ERROR(open(replaced(index, "[null]", "[]")), corrupt);
  EXPECT_ERROR(open(replaced(index, "[\"x\"]", "[5]")), corrupt);
  EXPECT_ERROR(open(replaced(index, "\"version\": 2", "\"version\": 1")), unsupported);
  EXPECT_ERROR(open(replaced(index, "\"mds\"", "\"csv\"")), unsupported);
  EXPECT_ERROR(open(replaced(index, "a.mds", "../a.mds")), unsupported);
  EXPECT_ERROR(open(replaced(index, "a.mds", "/etc/passwd")), unsupported);
}

TEST(Mds, CompressedShardsAreTakenWhereThePlainOneIsNotThere) {
  const TempDir dir;
  const MdsBuilder builder = one_column("str");
  const std::string shard = MdsBuilder::shard({builder.row({"abc"})});
  const auto write_index = [&](const std::string& compression) {
    write_file(dir / "index.json",
               MdsBuilder::index({builder.entry("a.mds", static_cast<int64_t>(shard.size()), 1,
                                                '"' + compression + '"',
                                                R"({"basename": "a.mds.zip", "bytes": 9})")}));
  };
  write_index("zstd:7");
  write_file(dir / "a.mds.zip", raw_zstd(shard));
  EXPECT_EQ(
      RecordView(open_mds(dir.path())->schema(), record_of(*open_mds(dir.path()), 0, 0)).string(0),
      "abc");
  write_file(dir / "a.mds.zip", raw_zstd(shard).substr(0, 20));
  EXPECT_ERROR(open_mds(dir.path()), corrupt);
  write_file(dir / "a.mds.zip", raw_zstd(shard + "x"));
  EXPECT_ERROR(open_mds(dir.path()), corrupt, .subject = source);
  write_index("br:11");
  EXPECT_ERROR(open_mds(dir.path()), unsupported, .subject = source);
  write_file(dir / "a.mds", shard);
  const auto source = open_mds(dir.path());
  EXPECT_THAT(source->notes(), Not(Contains(HasSubstr("decompressed"))));
}

TEST(Mds, FoldersAreSplits) {
  const TempDir dir;
  const MdsBuilder builder = one_column("str");
  builder.write(dir / "validation", {builder.row({"v"})});
  builder.write(dir / "train", {builder.row({"t"})});
  builder.write(dir / "train2", {builder.row({"t"})});
  const auto source = open_mds(dir.path());
  std::vector<std::string> names;
  for (const SourceSplit& split : source->splits()) names.push_back(split.name);
  EXPECT_THAT(names, ElementsAre("train", "train2", "val"));
  EXPECT_EQ(RecordView(source->schema(), record_of(*source, 2, 0)).string(1),
            "validation/shard.00000.mds: 0");
  builder.write(dir / "val", {builder.row({"v"})});
  EXPECT_ERROR(open_mds(dir.path()), invalid_argument, .subject = source);
  MdsBuilder().add_column("other", "str").write(dir / "val", {u32s({0})});
  fs::remove_all(dir / "validation");
  EXPECT_ERROR(open_mds(dir.path()), unsupported, .subject = source);
  EXPECT_ERROR(open_mds(dir / "nowhere"), not_found, .subject = source);
  EXPECT_ERROR(open_mds(dir / "train/shard.00000.mds"), not_found, .subject = source);
  fs::remove(dir / "train/index.json");
  EXPECT_ERROR(open_mds(dir / "train"), not_found, .subject = source);
}

TEST(Mds, AnIndexAboveOthersIsTheOneThatCounts) {
  const TempDir dir;
  const MdsBuilder builder = one_column("str");
  builder.write(dir / "0", {builder.row({"a"})});
  builder.write(dir / "1", {builder.row({"b"})});
  EXPECT_THAT(open_mds(dir.path())->notes(), Contains(HasSubstr("'0', '1' become splits")));
  const auto size = static_cast<int64_t>(MdsBuilder::shard({builder.row({"a"})}).size());
  write_file(dir / "index.json", MdsBuilder::index({builder.entry("0/shard.00000.mds", size, 1),
                                                    builder.entry("1/shard.00000.mds", size, 1)}));
  const auto source = open_mds(dir.path());
  EXPECT_EQ(source->splits().at(0).num_samples, 2);
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("the folders '0', '1' have their own index.json")));
  EXPECT_EQ(source->inputs(0).back().name, "index.json");
}

TEST(Mds, BytesAreThePictureWhereTheirColumnIsNamed) {
  const TempDir dir;
  const MdsBuilder builder = one_column("bytes");
  builder.write(dir.path(), {builder.row({jpeg_picture(3)}), builder.row({"no picture"})});
  const auto source = open_mds(dir.path(), {.image_column = "x"});
  EXPECT_EQ(source->schema().fields[0].type, FieldType::image);
  EXPECT_TRUE(source->checks_headers_only());
  EXPECT_EQ(text_of(RecordView(source->schema(), record_of(*source, 0, 0)).bytes(0)),
            jpeg_picture(3));
  EXPECT_ERROR(record_of(*source, 0, 1), unsupported);
}

}  // namespace
}  // namespace ffkit
