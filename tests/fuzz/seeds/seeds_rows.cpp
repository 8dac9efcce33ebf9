// Seeds of files of other libraries, whose rows are converted.
#include <string>

#include "seeds/seeds.h"
#include "sources/rows/litdata_builder.h"
#include "sources/rows/mds_builder.h"
#include "sources/rows/tf_example_builder.h"
#include "tar_builder.h"

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;
using testing::write_file;

// The first byte says as what the rest is read (fuzz_tfrecord.cpp).
void make_tfrecords(const fs::path& folder) {
  using namespace testing;
  fs::create_directories(folder);
  const std::string example =
      tf_example(tf_bytes("image/encoded", {"\xFF\xD8\xFF\xE0 and so on"}) +
                 tf_integers("image/class/label", {300}) + tf_bytes("names", {"a", "", "b"}) +
                 tf_floats("bbox", {0.5F, 1, -2}) + tf_integers("none", {}) +
                 tf_feature("alone", 3, varint(8) + varint(5)) +
                 tf_feature("float", 2, varint(13) + little_bytes(1.5F)));
  write_file(folder / "file", "0" + tf_record(example) + tf_record("") + tf_record(example));
  write_file(folder / "example", "1" + example);
  write_file(folder / "features",
             R"(2{"featuresDict": {"features": {"label": {"classLabel": {"numClasses": "2"}},
 "t": {"tensor": {"shape": {"dimensions": ["2", "-1"]}, "dtype": "int64", "encoding": "none"}},
 "o": {"sequence": {"feature": {"featuresDict": {"features": {
  "b": {"boundingBox": {"shape": {"dimensions": ["4"]}, "dtype": "float32"}}}}}, "length": "-1"}}}}})");
}

// Of the columns in fuzz_mds.cpp.
void make_mds(const fs::path& folder) {
  using namespace testing;
  fs::create_directories(folder);
  const std::string pixels = pillow_picture(2, 1, "RGB", "abcdef");
  const MdsBuilder all = MdsBuilder()
                             .add_column("array", "ndarray")
                             .add_column("fixed", "ndarray:uint8:2,2", 4)
                             .add_column("frames", "jpeg_array")
                             .add_column("json", "json")
                             .add_column("list", "list[pil]")
                             .add_column("number", "int32", 4)
                             .add_column("pixels", "pil")
                             .add_column("text", "str_int")
                             .add_column("typed", "ndarray:float32");
  const auto row = [&](const std::string& picture) {
    return all.row({std::string("\x11\x09\x02\0\x01\0", 6) + "abcd", "abcd",
                    u32s({1}) + sizes_and_items({"P6 1 1 255\nabc"}), "[1, {}]",
                    u32s({0, 2}) + sizes_and_items({pixels, picture}), "abcd", picture, "-17",
                    std::string("\x08\x01\x01", 3) + "abcd"});
  };
  struct Mode {
    const char* name;
    uint32_t width;
    size_t row_bytes;
  };
  constexpr Mode kModes[] = {{"L", 8, 8},    {"P", 8, 8}, {"1", 5, 1},   {"LA", 4, 8},
                             {"I;16", 4, 8}, {"I", 2, 8}, {"RGBA", 2, 8}};
  std::vector<std::string> rows;
  for (const Mode& mode : kModes) {
    rows.push_back(
        row(pillow_picture(mode.width, 1, mode.name, std::string(mode.row_bytes, '\0'))));
  }
  const std::string shard = MdsBuilder::shard(rows);
  write_file(folder / "shard", "s" + shard);
  write_file(folder / "index",
             "i" +
                 MdsBuilder::index({all.entry("s.mds", static_cast<int64_t>(shard.size()),
                                              static_cast<int64_t>(rows.size()))}) +
                 "\n" + shard);
}

// Of the leaves in fuzz_litdata.cpp.
void make_litdata(const fs::path& folder) {
  using namespace testing;
  fs::create_directories(folder);
  const std::string json = "\x05" + u32s({2, 1}) + "a\x06" + u32s({1, 5, 1}) + "v" + u32s({1}) +
                           "w" + u32s({1}) + "x" + u32s({1}) + "y" + u32s({1}) + "z\x10\x11" +
                           u32s({1}) + "t\x12" + bytes_of_number<int64_t>(-1) + "\x13" +
                           bytes_of_number(0.5) + std::string("\x14\0", 2) + u32s({1}) + "b\x01" +
                           u32s({1, 2}) + "st";
  const std::string row = LitDataBuilder::row(
      {u32s({8, 1, 2}) + "abcd", "\x01", u32s({1}) + sizes_and_items({"P6 1 1 255\nabc"}), json,
       u32s({1, 2}), pillow_picture(1, 1, "RGB", "abc"), bytes_of_number(1.5),
       u32s({15, 2, 1, 2}, true) + u32s({5, 6})});
  write_file(folder / "json", "j" + json);
  for (size_t tag = 2; tag < 12; ++tag) {
    write_file(folder / ("json" + std::to_string(tag)),
               "j" + std::string(1, static_cast<char>(tag)) + u32s({1}) + std::string(8, '\0'));
  }
  write_file(folder / "chunk", "c" + LitDataBuilder::chunk({row, row}));
  write_file(folder / "table", "c" + LitDataBuilder::table_chunk({"", ""}, "ARROW1"));
  write_file(folder / "chunk_and_table", "c" + LitDataBuilder::table_chunk({row, row}, "ARROW1"));
  write_file(folder / "samples", "s" + LitDataBuilder::chunk({raw_zstd(row), raw_zstd(row)}));
  const auto size = static_cast<uint32_t>(row.size());
  write_file(folder / "frames",
             "f" + LitDataBuilder::framed_chunk(
                       {0, size, 2 * size}, {{1, raw_zstd(row), size}, {1, raw_zstd(row), size}}));
  write_file(folder / "index", "i" +
                                   LitDataBuilder()
                                       .add_leaf("x", "str")
                                       .set("compression", "\"zstd:4\"")
                                       .index({LitDataBuilder::entry("c.bin", 1)}) +
                                   "\n" + LitDataBuilder::chunk({LitDataBuilder::row({"a"})}));
}

}  // namespace

void make_row_seeds(const fs::path& folder) {
  make_tfrecords(folder / "fuzz_tfrecord");
  make_mds(folder / "fuzz_mds");
  make_litdata(folder / "fuzz_litdata");
}

}  // namespace ffkit::fuzzing
