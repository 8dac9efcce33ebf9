#include <ffkit/format/v1_writer.h>

#include "format_prelude.h"

namespace ffkit {
namespace {

std::span<const std::byte> record_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(V1Writer, WritesTheSpecifiedBytes) {
  const TempDir dir;
  V1Writer writer(dir / "x.ffr", 2);
  EXPECT_EQ(writer.append(record_bytes("123456789")), 0);
  EXPECT_EQ(writer.append({}), 1);
  EXPECT_EQ(writer.finish(), 45);
  // Made with Python: struct.pack("<qIIqq", 2, zlib.crc32(b"123456789"), 0, 36, 45) and the CRC-32
  // of that before it.
  const std::string expected(
      "\x84\xe5\xd0\x36\x02\x00\x00\x00\x00\x00\x00\x00\x26\x39\xf4\xcb\x00\x00\x00\x00"
      "\x24\x00\x00\x00\x00\x00\x00\x00\x2d\x00\x00\x00\x00\x00\x00\x00"
      "123456789",
      45);
  EXPECT_EQ(testing::read_file(dir / "x.ffr"), expected);
}

TEST(V1Writer, WritesWhatTheReaderReads) {
  const TempDir dir;
  // On both sides of the buffer's size.
  const std::vector<size_t> sizes = {0, 1, 5000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20, 7};
  V1Writer writer(dir / "x.ffr", static_cast<int64_t>(sizes.size()));
  const auto record = [&](size_t i) {
    std::vector<std::byte> data(sizes[i]);
    for (size_t k = 0; k < data.size(); ++k) data[k] = static_cast<std::byte>(k * 7 + k / 251 + i);
    return data;
  };
  for (size_t i = 0; i < sizes.size(); ++i) writer.append(record(i));
  EXPECT_FALSE(fs::exists(dir / "x.ffr"));
  const int64_t file_bytes = writer.finish();
  EXPECT_EQ(file_bytes, static_cast<int64_t>(fs::file_size(dir / "x.ffr")));
  EXPECT_FALSE(fs::exists(dir / "x.ffr.tmp"));
  const ShardReader reader(dir / "x.ffr");
  EXPECT_EQ(reader.facts().version, 1);
  EXPECT_EQ(reader.facts().warning, "");
  EXPECT_TRUE(reader.verify().empty());
  ASSERT_EQ(reader.num_records(), static_cast<int64_t>(sizes.size()));
  std::vector<std::byte> read;
  for (size_t i = 0; i < sizes.size(); ++i) {
    reader.read(static_cast<int64_t>(i), read);
    const auto data = RecordView(reader.schema(), read).bytes(0);
    EXPECT_TRUE(std::ranges::equal(data, record(i))) << i;
  }
}

TEST(V1Writer, LeavesNothingWithoutFinish) {
  const TempDir dir;
  {
    V1Writer writer(dir / "x.ffr", 2);
    writer.append(record_bytes("one"));
    EXPECT_ERROR(writer.finish(), invalid_argument);
    EXPECT_TRUE(fs::exists(dir / "x.ffr.tmp"));
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(V1Writer, RefusesWhatCannotBe) {
  const TempDir dir;
  EXPECT_ERROR(V1Writer(dir / "x.ffr", -1), invalid_argument);
  // Not tried until the disk is full.
  EXPECT_ERROR(V1Writer(dir / "x.ffr", int64_t{1} << 50), invalid_argument);
  EXPECT_ERROR(V1Writer(dir / "x.ffr", kMaxV1Records + 1), invalid_argument);
  EXPECT_LE(12 + 12 * kMaxV1Records, ShardReaderOptions{}.max_v1_header_bytes);
  V1Writer writer(dir / "x.ffr", 1);
  writer.append(record_bytes("one"));
  EXPECT_ERROR(writer.append(record_bytes("two")), invalid_argument);
  writer.finish();
  EXPECT_ERROR(V1Writer(dir / "x.ffr", 1), invalid_argument);
  EXPECT_ERROR(V1Writer(dir / "none/x.ffr", 1), io);
}

// The original's files, written again from their records, are the same to the byte.
TEST(V1Writer, RepeatsTheOriginalsFiles) {
  FFKIT_REQUIRE_SHARED_DATA(data, "ffrecord-v1");
  const TempDir dir;
  int number = 0;
  for (const char* name : {"sizes.ffr", "empty.ffr", "parts/PART_00000.ffr", "parts/PART_00002.ffr",
                           "packed_folder.ffr", "imagenet-style/train.ffr/PART_00001.ffr"}) {
    const std::string original = testing::read_file(data / name);
    const ShardReader reader(data / name);
    const fs::path copy = dir / (std::to_string(number++) + ".ffr");
    V1Writer writer(copy, reader.num_records());
    for (int64_t i = 0; i < reader.num_records(); ++i) {
      const RecordLocation where = reader.locate(i);
      writer.append(record_bytes(original).subspan(static_cast<size_t>(where.offset),
                                                   static_cast<size_t>(where.stored_bytes)));
    }
    writer.finish();
    EXPECT_TRUE(testing::read_file(copy) == original) << name;
  }
}

}  // namespace
}  // namespace ffkit
