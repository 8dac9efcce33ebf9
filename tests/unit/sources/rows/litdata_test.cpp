#include "rows/litdata_builder.h"
#include "sources/litdata/litdata_format.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

using testing::bytes_of_number;
using testing::LitDataBuilder;
using testing::pillow_picture;
using testing::raw_zstd;
using testing::sizes_and_items;
using testing::u32s;

// A folder with one chunk of one leaf, `x`, whose values are given.
class OneLeaf {
 public:
  OneLeaf(const std::string& format, const std::vector<std::string>& values) {
    std::vector<std::string> rows;
    rows.reserve(values.size());
    for (const std::string& value : values) rows.push_back(LitDataBuilder::row({value}));
    LitDataBuilder().add_leaf("x", format).write(dir_.path(), rows);
    source_ = open_litdata(dir_.path());
  }
  const Source& source() const { return *source_; }
  std::vector<std::byte> record(int64_t row) const { return record_of(*source_, 0, row); }
  std::string text(int64_t row) const {
    return std::string(RecordView(source_->schema(), record(row)).string(0));
  }

 private:
  TempDir dir_;
  std::unique_ptr<Source> source_;
};

TEST(LitData, LeavesBecomeFields) {
  const TempDir dir;
  const std::string jpeg = jpeg_picture(1);
  LitDataBuilder()
      .add_leaf("image", "jpeg")
      .add_leaf("y", "int")
      .add_leaf("flag", "bool")
      .add_leaf("t", "tensor")
      .add_leaf("n", "no_header_numpy:8")
      .add_leaf("pixels", "pil")
      .add_leaf("frames", "jpeg_array")
      .add_leaf("clip", "video:mp4")
      .write(dir.path(), {LitDataBuilder::row({jpeg, bytes_of_number<int64_t>(7), "\x02",
                                               u32s({15, 2, 1, 2}, true) + u32s({5, 6}), "abcd",
                                               pillow_picture(1, 1, "RGB", "abc"),
                                               u32s({1}) + sizes_and_items({jpeg}), "mp4"})});
  const auto source = open_litdata(dir.path(), {.image_column = "image"});
  const Schema schema = source->schema();
  EXPECT_THAT(
      fields_of(*source),
      ElementsAre("'image' image", "'label' scalar i64 with column", "'flag' scalar u8 with column",
                  "'t' tensor i32", "'n' tensor f16", "'pixels' image", "'frames' list of image",
                  "'clip' bytes", "'id' string with column"));
  const std::vector<std::byte> bytes = record_of(*source, 0, 0);
  const RecordView record(schema, bytes);
  EXPECT_EQ(text_of(record.bytes(0)), jpeg);
  EXPECT_EQ(record.scalar<int64_t>(1), 7);
  EXPECT_EQ(record.scalar<uint8_t>(2), 1);
  EXPECT_THAT(record.tensor(3).shape, ElementsAre(1, 2));
  EXPECT_THAT(record.tensor(4).shape, ElementsAre(2));
  EXPECT_EQ(text_of(record.bytes(5)), "P6\n1 1\n255\nabc");
  EXPECT_EQ(text_of(record.list(6).bytes(0)), jpeg);
  EXPECT_EQ(record.string(8), "chunk-0-0.bin: 0");
  for (const char* note : {"column 'flag' holds true and false", "column 'clip' holds files",
                           "column 't'; they are i32", "column 'pixels' contains Pillow's"}) {
    EXPECT_THAT(source->notes(), Contains(HasSubstr(note)));
  }
}

TEST(LitData, StructuresNameTheirLeaves) {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  const auto node = [](const std::string& type, const std::string& context,
                       const std::string& children) {
    return R"({"type": ")" + type + R"(", "context": ")" + context + R"(", "children_spec": [)" +
           children + "]}";
  };
  const auto names = [](const std::string& spec) { return leaf_names("[1, " + spec + "]"); };
  EXPECT_THAT(names(leaf), ElementsAre("value"));
  EXPECT_THAT(names(node("builtins.tuple", "null", leaf + ", " + leaf)), ElementsAre("0", "1"));
  EXPECT_THAT(names(node("builtins.dict", R"([\"a\", 5])",
                         node("builtins.list", "null", leaf) + ", " +
                             node("collections.OrderedDict", R"([\"b\"])", leaf))),
              ElementsAre("a/0", "5/b"));
  EXPECT_THAT(names(node("builtins.list", "null", "")), ElementsAre());
  EXPECT_ERROR(names(node("builtins.dict", R"([\"a\", \"b\"])", leaf)), corrupt);
  EXPECT_ERROR(names(node("builtins.dict", R"([])", leaf)), corrupt);
  EXPECT_ERROR(names(node("builtins.dict", "5", leaf)), corrupt);
  EXPECT_ERROR(names(node("collections.namedtuple", "x.Point", leaf)), unsupported);
  EXPECT_ERROR(names("5"), corrupt);
  EXPECT_ERROR(leaf_names("[2, " + leaf + "]"), corrupt);
  EXPECT_ERROR(leaf_names("]"), corrupt);
  std::string deep = leaf;
  for (int i = 0; i < 100; ++i) deep = node("builtins.list", "null", deep);
  EXPECT_ERROR(names(deep), corrupt);
}

TEST(LitData, NestedValuesBecomeJson) {
  const auto text = [](const std::string& value) {
    return u32s({static_cast<uint32_t>(value.size())}) + value;
  };
  const std::string one = bytes_of_number<int64_t>(1);
  const std::string half = bytes_of_number(0.5);
  const OneLeaf json(
      "json",
      {"[1, {\"a\": null}]", std::string("\x01") + u32s({2}) + text("a\"\\\n\x01") + text(""),
       "\x02" + u32s({1}) + one,
       "\x03" + u32s({3}) + half + bytes_of_number(2.0) + bytes_of_number(10.0),
       "\x04" + u32s({2}) + std::string("\x01\0", 2), "\x05" + u32s({1}) + text("k") + "\x0b",
       "\x06" + u32s({2, 2}) + text("a") + text("b") + "\x12" + one + "\x10" + "\x11" + text("t") +
           "\x14\x01",
       "\x07" + text("\xC3\xBC"), "\x08" + bytes_of_number<int64_t>(-5),
       "\x09" + bytes_of_number(1e300), std::string("\x0a\0", 2),
       std::string("\0", 1) + text("[1, \"x\"]"),
       "\x09" + bytes_of_number(-std::numeric_limits<double>::infinity())});
  EXPECT_THAT(
      std::vector({json.text(0), json.text(1), json.text(2), json.text(3)}),
      ElementsAre("[1, {\"a\": null}]", R"(["a\"\\\n\u0001", ""])", "[1]", "[0.5, 2.0, 10.0]"));
  EXPECT_THAT(std::vector({json.text(4), json.text(5), json.text(6), json.text(7)}),
              ElementsAre("[true, false]", R"({"k": null})",
                          R"([{"a": 1, "b": null}, {"a": "t", "b": true}])", "\"\xC3\xBC\""));
  EXPECT_THAT(
      std::vector({json.text(8), json.text(9), json.text(10), json.text(11), json.text(12)}),
      ElementsAre("-5", "1e+300", "false", R"([1, "x"])", "-Infinity"));
}

TEST(LitData, NestedValuesThatAreDamagedAreBadSamples) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "\x05" + u32s({1, 0});
  const std::string huge = u32s({0xFFFFFFFF});
  const OneLeaf json(
      "json", {"", "\x02" + huge, "\x06" + huge + u32s({0}), "\x06" + huge + u32s({1, 1}) + "k\x10",
               "\x0c", "\x0b\x0b", "\x06" + u32s({1, 1, 1}) + "k\x15", deep,
               "\x07" + u32s({1}) + "\xFF", "\x01" + huge + "abcdefgh"});
  for (const int64_t row : {0, 1, 2, 3, 4, 5, 6, 8, 9}) EXPECT_ERROR(json.record(row), corrupt);
  EXPECT_ERROR(json.record(7), unsupported);
}

TEST(LitData, KeysOfManyRecordsAreNotMoreThanARecordHolds) {
  // 2 MiB of a key, and 2 Mi records: 4 TiB of JSON.
  const std::string key(2 << 20, 'k');
  const std::string rows(2 << 20, '\x10');
  const auto count = static_cast<uint32_t>(rows.size());
  const OneLeaf json("json", {"\x06" + u32s({count, 1, count}) + key + rows});
  EXPECT_ERROR(json.record(0), unsupported);
}

TEST(LitData, ArraysWithoutATypeAreOfTheFirstSamples) {
  const OneLeaf tensors(
      "tensor", {"", u32s({17, 1, 1}, true) + std::string(8, 'a'), u32s({0, 1, 1}, true) + "abcd",
                 u32s({4, 1, 1}, true) + "abcdefgh", u32s({17, 1, 2}, true) + std::string(8, 'a'),
                 u32s({17, 3, 0xFFFFFFFF, 0xFFFFFFFF, 2}, true), u32s({17, 0xFFFFFFFF}, true),
                 u32s({17, 0}, true) + std::string(8, 'b')});
  const Schema schema = tensors.source().schema();
  EXPECT_EQ(schema.fields[0].dtype, DType::i64);
  EXPECT_THAT(RecordView(schema, tensors.record(1)).tensor(0).shape, ElementsAre(1));
  EXPECT_THAT(RecordView(schema, tensors.record(7)).tensor(0).shape, ElementsAre());
  for (const int64_t row : {0, 4, 5, 6}) EXPECT_ERROR(tensors.record(row), corrupt);
  for (const int64_t row : {2, 3}) EXPECT_ERROR(tensors.record(row), unsupported);
  const OneLeaf arrays("numpy", {u32s({9, 2, 1, 2}) + std::string(8, 'a')});
  EXPECT_EQ(arrays.source().schema().fields[0].dtype, DType::f32);
  EXPECT_THAT(RecordView(arrays.source().schema(), arrays.record(0)).tensor(0).shape,
              ElementsAre(1, 2));
  const OneLeaf numbers("no_header_tensor:10", {"abcd", "abc", ""});
  EXPECT_EQ(numbers.source().schema().fields[0].dtype, DType::bf16);
  EXPECT_THAT(RecordView(numbers.source().schema(), numbers.record(2)).tensor(0).shape,
              ElementsAre(0));
  EXPECT_ERROR(numbers.record(1), corrupt);
}

TEST(LitData, WhatCannotBeTakenIsRefusedOrLeftOut) {
  for (const char* format : {"pickle", "graph", "graph:pickle", "mine", "no_header_numpy:14",
                             "no_header_tensor:x", "no_header_tensor:4", "tensor"}) {
    const TempDir dir;
    const LitDataBuilder builder = LitDataBuilder().add_leaf("x", format).add_leaf("y", "str");
    builder.write(dir.path(),
                  {LitDataBuilder::row({u32s({6, 0}, true) + std::string(16, 'a'), "b"})});
    EXPECT_ERROR(open_litdata(dir.path()), unsupported, .subject = source);
    const auto source = open_litdata(dir.path(), {.columns = {"y"}});
    EXPECT_THAT(source->notes(),
                Contains(HasSubstr("ffkit leaves out the column 'x', because this column ")));
    EXPECT_EQ(RecordView(source->schema(), record_of(*source, 0, 0)).string(0), "b");
  }
}

TEST(LitData, ConfigurationsThatAreNotReadAreRefused) {
  const TempDir dir;
  const std::vector<std::string> rows = {LitDataBuilder::row({"a"})};
  const auto open = [&](const std::string& key, const std::string& json) {
    LitDataBuilder().add_leaf("x", "str").set(key, json).write(dir.path(), rows);
    return open_litdata(dir.path())->splits().at(0).num_samples;
  };
  EXPECT_EQ(open("encryption", "null"), 1);
  EXPECT_EQ(open("item_loader", "\"PyTreeLoader\""), 1);
  EXPECT_EQ(open("compression", "null"), 1);
  EXPECT_ERROR(open("encryption", R"({"level": "sample"})"), unsupported, .subject = source);
  EXPECT_ERROR(open("item_loader", "\"TemporalArrayLoader\""), unsupported, .subject = source);
  EXPECT_ERROR(open("compression", "\"lz4\""), unsupported, .subject = source);
  EXPECT_ERROR(open("compression_level", "\"file\""), unsupported, .subject = source);
  EXPECT_ERROR(open("compression_level", "4"), corrupt, .subject = source);
  LitDataBuilder().add_leaf("x", "str").set_spec("[1]").write(dir.path(), rows);
  EXPECT_ERROR(open_litdata(dir.path()), corrupt, .subject = source);
  LitDataBuilder()
      .add_leaf("x", "str")
      .set_spec(
          R"([1, {\"type\": \"builtins.list\", \"context\": \"null\", \"children_spec\": []}])")
      .write(dir.path(), rows);
  EXPECT_ERROR(open_litdata(dir.path()), corrupt, .subject = source);
  write_file(dir / "index.json", R"({"shards": []})");
  EXPECT_ERROR(open_litdata(dir.path()), unsupported, .subject = source);
  write_file(dir / "index.json", R"({"chunks": []})");
  EXPECT_ERROR(open_litdata(dir.path()), corrupt, .subject = source);
}

TEST(LitData, ArrowTablesNeedWhatReadsThem) {
  const TempDir dir;
  LitDataBuilder()
      .add_leaf("x", "str")
      .write_chunk(dir.path(), LitDataBuilder::table_chunk({"", ""}, "ARROW1..."), 2);
  EXPECT_ERROR(open_litdata(dir.path()), unsupported, .subject = source);
}

TEST(LitData, ArrowTablesThatCannotBeThereAreErrors) {
  const auto open = [](const std::string& file) {
    const TempDir dir;
    LitDataBuilder().add_leaf("x", "str").write_chunk(dir.path(), file, 2);
    return open_litdata(dir.path())->splits().at(0).num_samples;
  };
  const auto chunk = [](uint32_t length) {
    return LitDataBuilder::table_chunk({"", ""}, "ARROW1...", length);
  };
  EXPECT_ERROR(open(chunk(0)), corrupt, .subject = source);
  EXPECT_ERROR(open(chunk(1000)), corrupt, .subject = source);
  EXPECT_ERROR(open(chunk(0xFFFFFFFF)), corrupt, .subject = source);
  // A table that leaves no room for the offsets.
  EXPECT_ERROR(open(chunk(20)), corrupt, .subject = source);
  EXPECT_ERROR(open(chunk(25)), corrupt, .subject = source);
  EXPECT_ERROR(open(std::string(8, 'x') + "LDARW01"), corrupt, .subject = source);
}

TEST(LitData, SamplesBesideAnArrowTableAreReadWithoutIt) {
  const TempDir dir;
  const std::string row = LitDataBuilder::row({"abc"});
  const LitDataBuilder builder = LitDataBuilder().add_leaf("x", "str");
  builder.write_chunk(dir.path(), LitDataBuilder::table_chunk({row, row}, "no Arrow"), 2);
  const auto source = open_litdata(dir.path());
  EXPECT_EQ(source->splits().at(0).num_samples, 2);
  EXPECT_FALSE(source->reads_in_order());
  EXPECT_EQ(RecordView(source->schema(), record_of(*source, 0, 1)).string(0), "abc");
  // One byte is neither of the samples nor of the table.
  builder.write_chunk(dir.path(), LitDataBuilder::table_chunk({row, row}, "no Arrow", 7), 2);
  EXPECT_ERROR(open_litdata(dir.path()), corrupt, .subject = source);
}

TEST(LitData, TokensAreRowsWithoutSizes) {
  const TempDir dir;
  LitDataBuilder()
      .add_leaf("x", "no_header_tensor:15")
      .set("item_loader", "\"TokensLoader\"")
      .write(dir.path(), {u32s({1, 2, 3}), u32s({4}), "abc"});
  const auto source = open_litdata(dir.path());
  EXPECT_THAT(RecordView(source->schema(), record_of(*source, 0, 0)).tensor(0).shape,
              ElementsAre(3));
  EXPECT_ERROR(record_of(*source, 0, 2), corrupt);
}

TEST(LitData, ChunksMayBeCompressedAsFiles) {
  const TempDir dir;
  const std::string chunk = LitDataBuilder::chunk({LitDataBuilder::row({"abc"})});
  const LitDataBuilder builder =
      LitDataBuilder().add_leaf("x", "str").set("compression", "\"zstd:4\"");
  write_file(dir / "index.json", builder.index({LitDataBuilder::entry("chunk-0-0.zstd:4.bin", 1)}));
  write_file(dir / "chunk-0-0.zstd:4.bin", raw_zstd(chunk));
  EXPECT_EQ(open_litdata(dir.path())->splits().at(0).num_samples, 1);
  write_file(dir / "chunk-0-0.zstd:4.bin", raw_zstd(chunk).substr(0, 12));
  EXPECT_ERROR(open_litdata(dir.path()), corrupt);
  write_file(dir / "chunk-0-0.bin", chunk);  // as the library leaves it
  EXPECT_EQ(open_litdata(dir.path())->splits().at(0).num_samples, 1);
}

TEST(LitData, SamplesMayBeCompressedByThemselves) {
  const TempDir dir;
  const std::string row = LitDataBuilder::row({"abc"});
  LitDataBuilder()
      .add_leaf("x", "str")
      .set("compression", "\"zstd\"")
      .set("compression_level", "\"sample\"")
      .write(dir.path(), {raw_zstd(row), raw_zstd(row).substr(0, 12), row, "",
                          raw_zstd(row.substr(0, 2)) + raw_zstd(row.substr(2)),
                          // One byte, repeated: 100,000 bytes, which is more than the limit below.
                          std::string("\x28\xB5\x2F\xFD\x00\x58", 6) +
                              bytes_of_number<uint32_t>(100000U << 3 | 2 | 1).substr(0, 3) + "a"});
  const auto source = open_litdata(dir.path(), {.max_sample_bytes = 4096});
  const Schema schema = source->schema();
  EXPECT_EQ(RecordView(schema, record_of(*source, 0, 0)).string(0), "abc");
  EXPECT_EQ(RecordView(schema, record_of(*source, 0, 4)).string(0), "abc");
  for (const int64_t at : {1, 2, 3}) EXPECT_ERROR(record_of(*source, 0, at), corrupt);
  EXPECT_ERROR(record_of(*source, 0, 5), unsupported);
}

TEST(LitData, SamplesMayBeCompressedInFrames) {
  using Frame = LitDataBuilder::Frame;
  const std::string row = LitDataBuilder::row({"abc"});  // 7 bytes
  const auto open = [&](const std::string& file, int64_t num_rows = 3) {
    const TempDir dir;
    LitDataBuilder()
        .add_leaf("x", "str")
        .set("compression", "\"zstd\"")
        .set("compression_level", "\"batch\"")
        .write_chunk(dir.path(), file, static_cast<size_t>(num_rows));
    const auto source = open_litdata(dir.path());
    EXPECT_EQ(RecordView(source->schema(), record_of(*source, 0, 2)).string(0), "abc");
  };
  const Frame two{2, raw_zstd(row + row), 14};
  const Frame one{1, raw_zstd(row), 7};
  const auto file = [](const std::vector<uint32_t>& offsets, const std::vector<Frame>& frames) {
    return LitDataBuilder::framed_chunk(offsets, frames);
  };
  const std::string right = file({0, 7, 14, 21}, {two, one});
  open(right);
  EXPECT_ERROR(open(right, 4), corrupt, .subject = source);
  EXPECT_ERROR(open(right + "x"), corrupt, .subject = source);
  EXPECT_ERROR(open(right.substr(0, right.size() - 1)), corrupt, .subject = source);
  EXPECT_ERROR(open(right.substr(0, 60)), corrupt, .subject = source);
  EXPECT_ERROR(open(right.substr(0, 20)), corrupt, .subject = source);
  EXPECT_ERROR(open(""), corrupt, .subject = source);
  EXPECT_ERROR(open(file({0, 7, 14, 20}, {two, one})), corrupt, .subject = source);
  EXPECT_ERROR(open(file({0, 7, 13, 21}, {two, one})), corrupt, .subject = source);
  EXPECT_ERROR(open(file({0, 15, 14, 21}, {two, one})), corrupt, .subject = source);
  EXPECT_ERROR(open(file({0, 7, 14, 21}, {two})), corrupt, .subject = source);
  EXPECT_ERROR(open(file({0, 7, 14}, {two, one})), corrupt, .subject = source);
  EXPECT_ERROR(open(file({0, 7, 14, 21}, {})), corrupt, .subject = source);
  EXPECT_ERROR(open(LitDataBuilder::framed_chunk({0, 7, 14, 21}, {two, one}, 2)), unsupported,
               .subject = source);
  EXPECT_ERROR(open(LitDataBuilder::chunk({row, row, row})), corrupt, .subject = source);
  std::string huge = right;
  huge.replace(12, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_ERROR(open(huge), corrupt, .subject = source);
}

TEST(LitData, ChunksThatDoNotFitTheIndexAreErrors) {
  const std::string row = LitDataBuilder::row({"abc"});
  const std::string chunk = LitDataBuilder::chunk({row, row});
  const auto open = [&](const std::string& file, int64_t num_rows = 2) {
    const TempDir dir;
    LitDataBuilder()
        .add_leaf("x", "str")
        .write_chunk(dir.path(), file, static_cast<size_t>(num_rows));
    return open_litdata(dir.path())->splits().at(0).num_samples;
  };
  EXPECT_EQ(open(chunk), 2);
  EXPECT_EQ(open(chunk, 1), 1);
  EXPECT_ERROR(open(chunk, 3), corrupt, .subject = source);
  EXPECT_ERROR(open(chunk.substr(0, chunk.size() - 1)), corrupt, .subject = source);
  EXPECT_ERROR(open(chunk.substr(0, 5)), corrupt, .subject = source);
  EXPECT_ERROR(open(""), corrupt, .subject = source);
  const TempDir dir;
  LitDataBuilder()
      .add_leaf("x", "str")
      .write(dir.path(), {row, row + "x", row.substr(0, 6), "ab", u32s({0xFFFFFFFF})});
  const auto source = open_litdata(dir.path());
  for (const int64_t at : {1, 2, 3, 4}) EXPECT_ERROR(record_of(*source, 0, at), corrupt);
}

TEST(LitData, FoldersAreSplitsOfOneConfiguration) {
  const TempDir dir;
  const LitDataBuilder builder = LitDataBuilder().add_leaf("x", "str");
  builder.write(dir / "val", {LitDataBuilder::row({"v"})});
  builder.write(dir / "train", {LitDataBuilder::row({"t"})});
  const auto source = open_litdata(dir.path());
  EXPECT_EQ(source->splits().at(1).name, "val");
  EXPECT_EQ(source->inputs(1).back().name, "val/index.json");
  LitDataBuilder().add_leaf("y", "str").write(dir / "val", {LitDataBuilder::row({"v"})});
  EXPECT_ERROR(open_litdata(dir.path()), unsupported, .subject = source);
}

}  // namespace
}  // namespace ffkit
