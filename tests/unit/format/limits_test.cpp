// Files that claim more than any memory holds: they end in one sentence, and the limits can be
// chosen.
#include <ffkit/base/crc32c.h>
#include <ffkit/format/packed_folder.h>

#include "format_prelude.h"
#include "memory_file.h"
#include "shard/shard_layout.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

using testing::MemoryFile;

std::span<const std::byte> text_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

const Schema& limits_schema() {
  static const Schema made{{{.name = "data", .type = FieldType::bytes}}};
  return made;
}

// Records of 24, 1016 and 5016 bytes; the last one compressed to a fraction.
void write_limits_shard(const std::filesystem::path& path) {
  ShardWriter writer(path, limits_schema());
  RecordCompressor zstd({.level = 1});
  std::vector<std::byte> record;
  RecordBuilder builder(limits_schema());
  for (const size_t size : {8, 1000, 5000}) {
    const std::vector<std::byte> data(size, std::byte{7});
    builder.set_bytes(0, data);
    builder.encode(record);
    if (size == 5000) {
      writer.append(record, zstd.compress(record));
    } else {
      writer.append(record);
    }
  }
  writer.finish();
}

TEST(MaxRecordBytes, HoldsForStoredAndForDecompressedBytes) {
  const TempDir dir;
  write_limits_shard(dir / "a.ffr");
  std::vector<std::byte> bytes;
  const ShardReader whole(dir / "a.ffr", {.max_record_bytes = 5016});
  ASSERT_LT(whole.locate(2).stored_bytes, 1000);
  for (int64_t i = 0; i < 3; ++i) whole.read(i, bytes);
  EXPECT_EQ(whole.options().max_record_bytes, 5016);

  const ShardReader compressed(dir / "a.ffr", {.max_record_bytes = 5015});
  compressed.read(1, bytes);
  EXPECT_ERROR(compressed.locate(2), unsupported, .path = dir / "a.ffr", .record = 2,
               .subject = sample);
  EXPECT_ERROR(compressed.read(2, bytes), unsupported, .record = 2, .subject = sample);
  EXPECT_ERROR(compressed.read_field(2, 0, bytes), unsupported, .record = 2, .subject = sample);
  ASSERT_TRUE(compressed.verify_record(2));
  EXPECT_THAT(compressed.verify_record(2)->message,
              ::testing::HasSubstr("more than the limit of 5015"));

  const ShardReader stored(dir / "a.ffr", {.max_record_bytes = 1015});
  stored.read(0, bytes);
  EXPECT_ERROR(stored.read(1, bytes), unsupported, .record = 1, .subject = sample);
}

TEST(MaxRecordBytes, IsPassedOnByDataSets) {
  const TempDir dir;
  write_limits_shard(dir / "a.ffr");
  const ShardReaderOptions options{.max_record_bytes = 100};
  std::vector<std::byte> bytes;
  const Dataset one = Dataset::open(dir / "a.ffr", "", options);
  one.read(0, bytes);
  EXPECT_ERROR(one.locate(1), unsupported, .record = 1, .subject = sample);
  EXPECT_ERROR(Dataset::open_files({dir / "a.ffr"}, options).locate(1), unsupported, .record = 1,
               .subject = sample);
}

TEST(MaxRecordBytes, IsLessByDefaultThanZstdMayClaim) {
  EXPECT_LE(4 * ShardReaderOptions{}.max_record_bytes, kMaxCompressedBytes);
}

// A v1 file whose only record goes on for `num_bytes`, all but the first of which no disk holds.
void make_sparse_v1(MemoryFile& file, int64_t num_bytes) {
  file.assign(text_bytes(testing::v1_bytes({"x"}, false)));
  file.truncate(24 + static_cast<size_t>(num_bytes));
}

TEST(MaxRecordBytes, HoldsForVersion1) {
  MemoryFile file;
  make_sparse_v1(file, int64_t{100} << 30);
  const ShardReader reader(file.path());  // tells the payload by the first record that it may read
  std::vector<std::byte> bytes;
  EXPECT_EQ(reader.num_records(), 1);
  EXPECT_ERROR(reader.read(0, bytes), unsupported, .record = 0, .subject = sample);
  EXPECT_ERROR(Dataset::open(file.path()).locate(0), unsupported, .record = 0, .subject = sample);
  make_sparse_v1(file, 1000);
  const ShardReader fits(file.path(), {.max_record_bytes = 1000});
  fits.read(0, bytes);
  EXPECT_ERROR(ShardReader(file.path(), {.max_record_bytes = 999}).read(0, bytes), unsupported,
               .record = 0, .subject = sample);
}

// The pickle of ("<image>", 1): protocol 2, as the original package writes it.
std::string image_and_label(const std::string& image) {
  const auto size = static_cast<uint32_t>(image.size());
  std::string pickle =
      "\x80\x03"
      "B";
  pickle.append(reinterpret_cast<const char*>(&size), 4);
  return pickle + image + "K\x01\x86.";
}

TEST(MaxRecordBytes, HoldsForLabelsOfVersion1) {
  const TempDir dir;
  testing::write_v1_file(dir / "a.ffr",
                         {image_and_label("ab"), image_and_label(std::string(500, 'c'))});
  EXPECT_THAT(Dataset::open(dir / "a.ffr").int_column("label"), ::testing::ElementsAre(1, 1));
  const Dataset limited = Dataset::open(dir / "a.ffr", "", {.max_record_bytes = 100});
  EXPECT_EQ(limited.schema().fields.size(), 2U);
  EXPECT_ERROR(limited.int_column("label"), unsupported, .record = 1, .subject = sample);
}

TEST(MaxRecordBytes, HoldsForPackedFolders) {
  const TempDir dir;
  // {"small": 0, "large": 1}
  const std::string tree = std::string("piouhjgbr\x80\x02}") +
                           std::string("(X\x05\0\0\0smallK\0", 13) +
                           std::string("X\x05\0\0\0largeK\x01u.", 14);
  testing::write_v1_file(dir / "p.ffr", {"abc", std::string(500, 'x'), tree});
  const PackedFolder folder(dir / "p.ffr", {.max_record_bytes = 100});
  ASSERT_EQ(folder.files().size(), 2U);
  EXPECT_EQ(folder.files()[1].num_bytes, 500);
  std::vector<std::byte> bytes;
  folder.read(0, bytes);
  EXPECT_EQ(bytes.size(), 3U);
  EXPECT_ERROR(folder.read(1, bytes), unsupported, .record = 1);
  EXPECT_ERROR(PackedFolder(dir / "p.ffr", {.max_record_bytes = 20}), unsupported, .record = 2);
}

// A v1 file whose header is `num_records` long and zero behind its first 12 bytes.
void make_sparse_header(MemoryFile& file, int64_t num_records) {
  file.assign({});
  file.write(4, std::as_bytes(std::span(&num_records, 1)));
  file.truncate(12 + 12 * static_cast<size_t>(num_records));
}

TEST(MaxV1HeaderBytes, HoldsBeforeTheHeaderIsRead) {
  MemoryFile file;
  make_sparse_header(file, int64_t{1} << 37);
  EXPECT_ERROR(ShardReader(file.path()), unsupported, .subject = shard);
  file.assign(text_bytes(testing::v1_bytes({"a", "b", "c"})));
  EXPECT_EQ(ShardReader(file.path(), {.max_v1_header_bytes = 48}).num_records(), 3);
  EXPECT_ERROR(ShardReader(file.path(), {.max_v1_header_bytes = 47}), unsupported,
               .subject = shard);
}

// No memory is taken for what is no header: here it would be 1.6 TB.
TEST(MaxV1HeaderBytes, MayBeRaisedForASparseFile) {
  MemoryFile file;
  make_sparse_header(file, int64_t{1} << 37);
  const ShardReaderOptions options{.max_v1_header_bytes = int64_t{1} << 60};
  EXPECT_ERROR(ShardReader(file.path(), options), corrupt, .subject = shard);
}

TEST(Limits, OfVersion1HeadersThatAreReadInParts) {
  // More records than are read at once.
  std::vector<std::string> records(300'000);
  records.front() = "first";
  records.back() = "last";
  std::string file = testing::v1_bytes(records);
  MemoryFile whole(text_bytes(file));
  const ShardReader reader(whole.path());
  EXPECT_EQ(reader.num_records(), 300'000);
  EXPECT_EQ(reader.facts().record_bytes, 9);
  std::vector<std::byte> bytes;
  reader.read(299'999, bytes);
  EXPECT_EQ(RecordView(reader.schema(), bytes).bytes(0).size(), 4U);
  for (const size_t at : {size_t{12}, size_t{12} + 4 * 299'999}) {  // checksums
    file[at] ^= 1;
    const MemoryFile damaged(text_bytes(file));
    EXPECT_ERROR(ShardReader(damaged.path()), corrupt, .subject = shard);
    file[at] ^= 1;
  }
}

// A shard of which there is nothing but header, catalog and trailer.
void make_sparse_shard(MemoryFile& file, const Catalog& catalog, int64_t catalog_offset) {
  const std::string json = encode_catalog(catalog);
  const auto json_bytes = static_cast<int64_t>(json.size());
  file.assign(encode_header({}));
  file.write(static_cast<size_t>(catalog_offset), text_bytes(json));
  file.write(static_cast<size_t>(catalog_offset + json_bytes),
             encode_trailer({.catalog_offset = catalog_offset,
                             .catalog_bytes = json_bytes,
                             .catalog_crc32c = crc32c(text_bytes(json)),
                             .num_records = catalog.num_records,
                             .file_bytes = catalog_offset + json_bytes + kTrailerBytes}));
}

// A shard of no records whose column claims a text of 1 TiB, in a sparse file.
TEST(Limits, OfColumnsThatASparseFileClaims) {
  constexpr int64_t kTextBytes = int64_t{1} << 40;
  Catalog catalog{.schema = {{{.name = "id", .type = FieldType::string, .column = true}}}};
  const int64_t text_offset = kHeaderBytes;
  catalog.streams = {{.name = "entries", .offset = kHeaderBytes},
                     {.name = "column/id/ends", .offset = kHeaderBytes},
                     {.name = "column/id/text", .offset = text_offset, .num_bytes = kTextBytes}};
  const int64_t end = text_offset + catalog.streams[2].num_pages() * kPageBytes;
  MemoryFile file;
  make_sparse_shard(file, catalog, end);
  const ShardReader reader(file.path());
  EXPECT_ERROR(reader.string_column("id"), corrupt, .subject = shard);
  EXPECT_EQ(reader.verify_index().size(), 1U);
}

// A shard of 2^35 records, none of which are there.
TEST(Limits, OfRecordsThatASparseFileClaims) {
  constexpr int64_t kRecords = int64_t{1} << 35;
  Catalog catalog{
      .num_records = kRecords,
      .schema = {{{.name = "x", .type = FieldType::scalar, .dtype = DType::u8, .column = true}}}};
  catalog.streams = {
      {.name = "entries", .offset = kHeaderBytes, .num_bytes = kRecords * kEntryBytes},
      {.name = "column/x", .offset = kHeaderBytes, .num_bytes = kRecords}};
  const int64_t end = kHeaderBytes + catalog.streams[0].num_pages() * kPageBytes;
  MemoryFile file;
  make_sparse_shard(file, catalog, end);
  const Dataset dataset = Dataset::open(file.path());
  EXPECT_EQ(dataset.num_records(), kRecords);
  EXPECT_ERROR(dataset.int_column("x"), corrupt, .subject = shard);
  EXPECT_ERROR(dataset.where(parse_filter("x == 1")), corrupt, .subject = shard);
  EXPECT_ERROR(dataset.locate(kRecords - 1), corrupt, .subject = shard);
}

// A shard of two records whose texts are said to end at `ends`, with the right checksums.
void make_text_shard(MemoryFile& file, const std::array<uint64_t, 2>& ends) {
  Catalog catalog{.num_records = 2,
                  .schema = {{{.name = "id", .type = FieldType::string, .column = true}}}};
  catalog.streams = {{.name = "entries", .num_bytes = 2 * kEntryBytes},
                     {.name = "column/id/ends", .num_bytes = 16},
                     {.name = "column/id/text", .num_bytes = 5}};
  std::vector<std::array<std::byte, kPageBytes>> pages(3);
  std::memcpy(pages[1].data(), ends.data(), 16);
  std::memcpy(pages[2].data(), "abcde", 5);
  int64_t end = kHeaderBytes;
  for (uint32_t i = 0; i < 3; ++i, end += kPageBytes) {
    StreamInfo& stream = catalog.streams[i];
    stream.offset = end;
    const uint32_t crc = seal_page(pages[i], 0, i, static_cast<uint32_t>(stream.num_bytes));
    stream.crc32c = crc32c(std::as_bytes(std::span(&crc, 1)));
  }
  make_sparse_shard(file, catalog, end);
  for (size_t i = 0; i < 3; ++i) {
    file.write(static_cast<size_t>(catalog.streams[i].offset), pages[i]);
  }
}

TEST(Limits, OfTextsInAColumn) {
  MemoryFile file;
  make_text_shard(file, {2, 5});
  EXPECT_THAT(ShardReader(file.path()).string_column("id"), ::testing::ElementsAre("ab", "cde"));
  make_text_shard(file, {2, 6});
  EXPECT_ERROR(ShardReader(file.path()).string_column("id"), corrupt, .record = 1,
               .subject = sample);
  make_text_shard(file, {3, 2});
  EXPECT_ERROR(ShardReader(file.path()).string_column("id"), corrupt, .record = 1,
               .subject = sample);
}

// Beside the shards there are files that are read as a whole.
TEST(Limits, OfManifestsAndMetaFiles) {
  const TempDir dir;
  const auto make_sparse = [&](const std::string& name) {
    std::ofstream(dir / name) << "{}";
    std::filesystem::resize_file(dir / name, uintmax_t{1} << 40);
  };
  make_sparse("manifest.json");
  EXPECT_ERROR(read_manifest(dir / "manifest.json"), unsupported);
  std::filesystem::remove(dir / "manifest.json");
  testing::write_v1_file(dir / "a.ffr", {image_and_label("ab")});
  make_sparse("meta.pkl");
  EXPECT_ERROR(Dataset::open(dir / "a.ffr"), unsupported);
}

}  // namespace
}  // namespace ffkit
