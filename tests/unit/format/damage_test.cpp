// Every bit of a file flipped, one at a time, and every length it can be cut to: reading everything
// ends in the right bytes or in an error that names the file; never in a crash, never in other
// bytes.
#include <ffkit/base/crc32c.h>
#include <ffkit/format/shard_reader.h>

#include "format_prelude.h"
#include "memory_file.h"
#include "random_records.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

using testing::MemoryFile;

// All that a reader can be asked for.
struct Content {
  std::vector<std::vector<std::byte>> records;
  std::vector<std::vector<std::byte>> fields;  // read one by one
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  bool operator==(const Content&) const = default;
};

Content read_content(const std::filesystem::path& path) {
  const ShardReader reader(path);
  Content content;
  // The columns first: where they are damaged, the records need not be read again.
  for (const Field& field : reader.schema().fields) {
    if (!field.column) continue;
    if (field.type == FieldType::string) {
      content.texts = reader.string_column(field.name);
    } else {
      content.numbers = reader.int_column(field.name);
    }
  }
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < reader.num_records(); ++i) {
    reader.read(i, bytes);
    RecordView view(reader.schema(), bytes);
    content.records.push_back(bytes);
    // Of a compressed record the whole is read for any of them: one will do.
    const size_t num_fields = reader.schema().fields.size();
    for (size_t f = reader.locate(i).codec == Codec::none ? 0 : num_fields - 1; f < num_fields;
         ++f) {
      reader.read_field(i, f, bytes);
      content.fields.push_back(bytes);
    }
  }
  return content;
}

std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A shard with all that there is: every field type, a null, columns, records stored raw,
// compressed, and compressed with a dictionary. One record of each kind: every byte is read some
// hundred thousand times.
std::vector<std::byte> make_shard() {
  const Schema schema{{
      {.name = "label", .type = FieldType::scalar, .dtype = DType::i32, .column = true},
      {.name = "id", .type = FieldType::string, .column = true},
      {.name = "cam/image", .type = FieldType::image},
      {.name = "boxes", .type = FieldType::tensor, .dtype = DType::f32},
      {.name = "tags", .type = FieldType::list, .item = FieldType::string},
  }};
  testing::Random random(5);
  std::vector<testing::RandomRecord> values;
  std::vector<std::vector<std::byte>> samples;
  for (int i = 0; i < 400; ++i) {
    testing::RandomRecord record = random_record(schema, random, 400);
    if (i == 0) record[3].is_null = true;
    samples.push_back(encode(schema, record));
  }
  CompressionOptions plain{.level = 3};
  CompressionOptions with_dictionary{.level = 3, .dictionary = train_dictionary(samples, 512)};
  RecordCompressor compressors[] = {RecordCompressor(CompressionOptions{}), RecordCompressor(plain),
                                    RecordCompressor(with_dictionary)};
  const TempDir dir;
  ShardWriter writer(dir / "a.ffr", schema, {.alignment = 512, .compression = with_dictionary});
  for (size_t i = 0; i < 3; ++i) writer.append(samples[i], compressors[i].compress(samples[i]));
  writer.finish();
  const ShardReader reader(dir / "a.ffr");
  std::set<Codec> codecs;
  int num_nulls = 0;
  std::vector<std::byte> field;
  for (int64_t i = 0; i < 3; ++i) {
    codecs.insert(reader.locate(i).codec);
    for (size_t f = 0; f < 5; ++f) num_nulls += reader.read_field(i, f, field) ? 0 : 1;
  }
  EXPECT_GT(num_nulls, 0);
  EXPECT_EQ(codecs.size(), 3U) << "the shard must hold every codec";
  return file_bytes(dir / "a.ffr");
}

std::vector<std::byte> make_v1_file() {
  const std::string file = testing::v1_bytes({"one", "", std::string(100, 'x'), "the last"});
  const auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

// Flips bit `bit` of every byte in turn. Returns how many flips were found.
size_t flip_everywhere(const std::vector<std::byte>& bytes, int bit) {
  MemoryFile file(bytes);
  const Content whole = read_content(file.path());
  size_t num_found = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::byte damaged = bytes[at] ^ static_cast<std::byte>(1 << bit);
    file.write(at, std::span(&damaged, 1));
    try {
      EXPECT_EQ(read_content(file.path()), whole) << "other bytes after damage at " << at;
    } catch (const Error& e) {
      ++num_found;
      EXPECT_THAT(e.what(), HasSubstr(file.path().string())) << at;
      EXPECT_TRUE(e.code() == ErrorCode::corrupt || e.code() == ErrorCode::unsupported) << e.what();
    }
    file.write(at, std::span(&bytes[at], 1));
  }
  return num_found;
}

// Cuts the file shorter and shorter.
void cut_everywhere(const std::vector<std::byte>& bytes) {
  MemoryFile file(bytes);
  read_content(file.path());
  for (size_t size = bytes.size(); size-- > 0;) {
    file.truncate(size);
    try {
      read_content(file.path());
      ADD_FAILURE() << "a file cut to " << size << " bytes was read";
    } catch (const Error& e) {
      ASSERT_THAT(e.what(), HasSubstr(file.path().string())) << size;
      ASSERT_EQ(e.code(), ErrorCode::corrupt) << e.what();
    }
  }
}

// Flips bit `bit` of every byte of the records that are stored as they are, and reads their fields
// by themselves: nobody has looked at the checksum of the whole record. Returns how many flips no
// field noticed.
size_t flip_fields(const std::vector<std::byte>& bytes, int bit) {
  MemoryFile file(bytes);
  const ShardReader reader(file.path());
  const size_t num_fields = reader.schema().fields.size();
  size_t num_unnoticed = 0;
  std::vector<std::byte> field;
  for (int64_t i = 0; i < reader.num_records(); ++i) {
    const RecordLocation where = reader.locate(i);
    if (where.codec != Codec::none) continue;
    std::vector<std::vector<std::byte>> whole(num_fields);
    for (size_t f = 0; f < num_fields; ++f) reader.read_field(i, f, whole[f]);
    const auto begin = static_cast<size_t>(where.offset);
    for (size_t at = begin; at < begin + static_cast<size_t>(where.stored_bytes); ++at) {
      const std::byte damaged = bytes[at] ^ static_cast<std::byte>(1 << bit);
      file.write(at, std::span(&damaged, 1));
      bool is_noticed = false;
      for (size_t f = 0; f < num_fields; ++f) {
        try {
          reader.read_field(i, f, field);
          EXPECT_EQ(field, whole[f]) << "field " << f << " after damage at " << at;
        } catch (const Error& e) {
          is_noticed = true;
          EXPECT_EQ(e.code(), ErrorCode::corrupt) << e.what();
          EXPECT_EQ(e.context().record, i) << e.what();
        }
      }
      if (!is_noticed) ++num_unnoticed;
      file.write(at, std::span(&bytes[at], 1));
    }
  }
  return num_unnoticed;
}

class FlippedBit : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Bits, FlippedBit, ::testing::Range(0, 8));

TEST_P(FlippedBit, OfAShardIsFoundOrIsPadding) {
  const auto bytes = make_shard();
  // Padding between the records and before the index: less than 512 bytes a record and a page.
  EXPECT_GT(flip_everywhere(bytes, GetParam()), bytes.size() - 3 * 512 - 4096);
}

TEST_P(FlippedBit, OfAFieldIsFoundWhenItIsReadAlone) {
  // Padding alone: up to 7 bytes before each of 5 fields of the one record.
  EXPECT_LE(flip_fields(make_shard(), GetParam()), 5U * 7);
}

TEST_P(FlippedBit, OfAV1FileIsFound) {
  const auto bytes = make_v1_file();
  EXPECT_EQ(flip_everywhere(bytes, GetParam()), bytes.size());
}

TEST(CutFile, ShardIsRefusedAtEveryLength) {
  cut_everywhere(make_shard());
}

TEST(CutFile, V1FileIsRefusedAtEveryLength) {
  cut_everywhere(make_v1_file());
}

// A table of one bytes field that ends at `end`, with the right checksum over what lies there, as a
// hostile writer makes it.
std::vector<std::byte> record_that_ends_at(uint64_t end, std::span<const std::byte> field) {
  std::vector<std::byte> record(16);
  std::memcpy(record.data(), &end, 8);
  const uint32_t crc = crc32c(field, crc32c(std::as_bytes(std::span(&end, 1))));
  std::memcpy(record.data() + 8, &crc, 4);
  return record;
}

// The bytes behind a record are another's, also when the field's checksum is made for them.
TEST(HostileRecord, FieldThatEndsBehindItsRecordIsRefused) {
  const Schema schema{{{.name = "data", .type = FieldType::bytes}}};
  const std::string text = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  const auto secret = std::as_bytes(std::span(text));
  RecordBuilder builder(schema);
  builder.set_bytes(0, secret);
  std::vector<std::byte> other = testing::encoded(builder);
  for (const size_t excess : {1, 8, 24, 64, 80}) {
    const auto seen = std::span<const std::byte>(other).first(excess);
    const auto hostile = record_that_ends_at(16 + excess, seen);
    std::vector<std::byte> valid = record_that_ends_at(16, {});
    const TempDir dir;
    ShardWriter writer(dir / "a.ffr", schema, {.alignment = 512});
    writer.append(valid, {.bytes = hostile, .crc32c = crc32c(hostile), .codec = Codec::none});
    writer.append(other);
    writer.finish();
    const ShardReader reader(dir / "a.ffr");
    ASSERT_EQ(reader.locate(1).offset, reader.locate(0).offset + 16) << "the records touch";
    std::vector<std::byte> bytes;
    EXPECT_ERROR(reader.read_field(0, 0, bytes), corrupt, .record = 0, .subject = sample);
    ASSERT_TRUE(reader.verify_record(0)) << excess;
    EXPECT_THAT(reader.verify_record(0)->message, HasSubstr("but the record has 16 bytes"));
  }
}

}  // namespace
}  // namespace ffkit
