#include <ffkit/base/compression.h>
#include <ffkit/base/crc32c.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>
#include <ffkit/format/shard_writer.h>

#include "format/shard/shard_layout.h"
#include "random_records.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

Schema text_schema() {
  return Schema{
      {{.name = "text", .type = FieldType::string},
       {.name = "number", .type = FieldType::scalar, .dtype = DType::i64, .column = true}}};
}

// Short, with much in common with the others: what dictionaries are for.
std::vector<std::byte> text_record(const Schema& schema, int64_t i, int num_repeats) {
  std::string text = fmt::format(
      R"({{"instance_token": "{:032x}", "category": "vehicle.car", "visibility": {}, "attributes": ["vehicle.parked"]}})",
      i * 0x9E3779B97F4A7C15 % 0xFFFFFFFFFFFF, i % 4);
  for (int k = 1; k < num_repeats; ++k) text += text.substr(0, 120);
  RecordBuilder builder(schema);
  builder.set_string(0, text);
  builder.set_scalar<int64_t>(1, i);
  return testing::encoded(builder);
}

std::vector<std::vector<std::byte>> text_records(int64_t count, int num_repeats = 1) {
  std::vector<std::vector<std::byte>> records;
  for (int64_t i = 0; i < count; ++i) records.push_back(text_record(text_schema(), i, num_repeats));
  return records;
}

ShardSummary write_compressed(const std::filesystem::path& path,
                              const std::vector<std::vector<std::byte>>& records,
                              const CompressionOptions& compression) {
  ShardWriter writer(path, text_schema(), {.compression = compression});
  for (const auto& record : records) writer.append(record);
  return writer.finish();
}

void expect_records(const ShardReader& reader, const std::vector<std::vector<std::byte>>& records) {
  std::vector<std::byte> record;
  for (size_t i = 0; i < records.size(); ++i) {
    reader.read(static_cast<int64_t>(i), record);
    EXPECT_EQ(record, records[i]) << i;
  }
}

TEST(Compression, EveryLevelGivesBackTheRecords) {
  const TempDir dir;
  const auto records = text_records(50, 10);
  for (const int level : {-7, -1, 1, 3, 19, 22}) {
    const auto path = dir / fmt::format("{}.ffr", level);
    const ShardSummary summary = write_compressed(path, records, {.level = level});
    EXPECT_LT(summary.record_bytes, summary.raw_bytes) << level;
    const ShardReader reader(path);
    EXPECT_EQ(reader.locate(7).codec, Codec::zstd);
    expect_records(reader, records);
  }
}

TEST(Compression, DictionaryIsKeptInTheShardAndHelps) {
  const TempDir dir;
  const auto records = text_records(2000);
  const auto dictionary = train_dictionary(std::span(records).first(1000), 8 << 10);
  EXPECT_LE(dictionary.size(), 8U << 10);
  EXPECT_EQ(dictionary, train_dictionary(std::span(records).first(1000), 8 << 10));
  const ShardSummary plain = write_compressed(dir / "plain.ffr", records, {.level = 3});
  const ShardSummary with =
      write_compressed(dir / "with.ffr", records, {.level = 3, .dictionary = dictionary});
  EXPECT_LT(with.record_bytes * 3, plain.record_bytes * 2);
  const ShardReader reader(dir / "with.ffr");
  EXPECT_EQ(reader.locate(1999).codec, Codec::zstd_dictionary);
  EXPECT_EQ(reader.facts().dictionary_bytes, static_cast<int64_t>(dictionary.size()));
  expect_records(reader, records);
  EXPECT_TRUE(reader.verify().empty());
}

// A dictionary is compiled for a level, which then is that of all that is compressed with it.
TEST(Compression, ALevelHoldsWithAndWithoutADictionary) {
  const auto records = text_records(300, 10);
  const auto bytes_at = [&](int level, const std::vector<std::byte>& dictionary) {
    RecordCompressor compressor({.level = level, .dictionary = dictionary});
    size_t num_bytes = 0;
    for (const auto& record : records) num_bytes += compressor.compress(record).bytes.size();
    return num_bytes;
  };
  const auto dictionary = train_dictionary(text_records(1000), 4 << 10);
  for (const auto& used : {std::vector<std::byte>{}, dictionary}) {
    EXPECT_LT(bytes_at(1, used), bytes_at(-7, used));
    EXPECT_LT(bytes_at(19, used), bytes_at(1, used));
  }
}

TEST(Compression, WhatDoesNotShrinkIsStoredAsItIs) {
  const Schema schema{{{.name = "blob", .type = FieldType::bytes}}};
  testing::Random random(1);
  const auto noise = random.bytes(5000);
  RecordBuilder builder(schema);
  builder.set_bytes(0, noise);
  std::vector<std::byte> record = testing::encoded(builder);
  RecordCompressor compressor({.level = 19});
  const StoredRecord stored = compressor.compress(record);
  EXPECT_EQ(stored.codec, Codec::none);
  EXPECT_EQ(stored.bytes.data(), record.data());
  EXPECT_EQ(stored.crc32c, crc32c(record));
}

TEST(Compression, RefusesWrongOptions) {
  EXPECT_ERROR(RecordCompressor({.level = 23}), invalid_argument);
  EXPECT_ERROR(RecordCompressor({.level = -8}), invalid_argument);
  EXPECT_ERROR(RecordCompressor({.level = 1, .dictionary = std::vector<std::byte>(100)}),
               invalid_argument);
  const auto records = text_records(3);
  EXPECT_ERROR(train_dictionary(records, 4096), invalid_argument);
  EXPECT_ERROR(train_dictionary(records, 1), invalid_argument);
}

// Rewrites entry 0 of a shard of one page of entries, with right checksums everywhere: what a
// hostile writer can make.
void forge_entry(const std::filesystem::path& path,
                 const std::function<void(RecordLocation&)>& change) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(std::as_bytes(std::span(text)).begin(),
                               std::as_bytes(std::span(text)).end());
  const auto end = static_cast<int64_t>(bytes.size());
  ShardTrailer trailer = decode_trailer(
      std::span<const std::byte, kTrailerBytes>(bytes.data() + end - kTrailerBytes, kTrailerBytes),
      "", end);
  Catalog catalog = decode_catalog(
      {text.data() + trailer.catalog_offset, static_cast<size_t>(trailer.catalog_bytes)}, "",
      trailer.catalog_offset);
  StreamInfo& entries = catalog.streams[0];
  const std::span<std::byte, kPageBytes> page(bytes.data() + entries.offset, kPageBytes);
  RecordLocation entry = decode_entry(page.first<kEntryBytes>());
  change(entry);
  std::ranges::copy(encode_entry(entry), page.begin());
  const uint32_t crc = seal_page(page, 0, 0, static_cast<uint32_t>(entries.num_bytes));
  entries.crc32c = crc32c(std::as_bytes(std::span(&crc, 1)));
  const std::string json = encode_catalog(catalog);
  bytes.resize(static_cast<size_t>(trailer.catalog_offset));
  bytes.insert(bytes.end(), std::as_bytes(std::span(json)).begin(),
               std::as_bytes(std::span(json)).end());
  trailer.catalog_bytes = static_cast<int64_t>(json.size());
  trailer.catalog_crc32c = crc32c(std::as_bytes(std::span(json)));
  trailer.file_bytes = trailer.catalog_offset + trailer.catalog_bytes + kTrailerBytes;
  const auto sealed = encode_trailer(trailer);
  bytes.insert(bytes.end(), sealed.begin(), sealed.end());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

class ForgedShard : public ::testing::Test {
 protected:
  ForgedShard() { write_compressed(path_, text_records(3), {.level = 3}); }
  void expect_corrupt(const std::function<void(RecordLocation&)>& change) {
    forge_entry(path_, change);
    const ShardReader reader(path_);
    std::vector<std::byte> record;
    EXPECT_ERROR(reader.read(0, record), corrupt, .path = path_, .record = 0, .subject = sample);
    reader.read(1, record);  // the others are well
    EXPECT_EQ(reader.verify().size(), reader.verify_index().size() + 1);
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "a.ffr";
};

TEST_F(ForgedShard, RawLengthIsBoundedBeforeMemoryIsAllocated) {
  expect_corrupt([](RecordLocation& entry) { entry.raw_bytes = int64_t{1} << 60; });
}

TEST_F(ForgedShard, RawLengthThatZstdCannotReachIsRefused) {
  expect_corrupt([](RecordLocation& entry) { entry.raw_bytes = (entry.stored_bytes + 2) * 32768; });
}

TEST_F(ForgedShard, FrameOfAnotherLengthIsRefused) {
  expect_corrupt([](RecordLocation& entry) { ++entry.raw_bytes; });
}

TEST_F(ForgedShard, MissingDictionaryIsNamed) {
  expect_corrupt([](RecordLocation& entry) { entry.codec = Codec::zstd_dictionary; });
}

TEST_F(ForgedShard, UnknownCodecIsUnsupported) {
  forge_entry(path_, [](RecordLocation& entry) { entry.codec = static_cast<Codec>(3); });
  std::vector<std::byte> record;
  EXPECT_ERROR(ShardReader(path_).read(0, record), unsupported, .record = 0, .subject = sample);
}

TEST_F(ForgedShard, RawFrameTakenForARecordIsRefused) {
  forge_entry(path_, [](RecordLocation& entry) {
    entry.codec = Codec::none;
    entry.raw_bytes = entry.stored_bytes;
  });
  const ShardReader reader(path_);
  EXPECT_TRUE(reader.verify_record(0).has_value());
  std::vector<std::byte> field;
  EXPECT_ERROR(reader.read_field(0, 0, field), corrupt, .record = 0, .subject = sample);
}

}  // namespace
}  // namespace ffkit
