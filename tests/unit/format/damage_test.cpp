// Every bit of a file flipped, one at a time, and every length it can be cut to: reading everything ends in the right bytes or in an error that
// names the file; never in a crash, never in other bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <set>

#include <ffkit/format/error.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>
#include <ffkit/format/shard_writer.h>

#include "memory_file.h"
#include "random_records.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using ::testing::HasSubstr;
using testing::MemoryFile;
using testing::TempDir;

// All that a reader can be asked for.
struct Content {
  std::vector<std::vector<std::byte>> records;
  std::vector<std::vector<std::byte>> fields;  // read one by one
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  bool operator==(const Content&) const = default;
};

Content read_everything(const std::filesystem::path& path) {
  const ShardReader reader(path);
  Content content;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < reader.num_records(); ++i) {
    reader.read(i, bytes);
    RecordView view(reader.schema(), bytes);
    content.records.push_back(bytes);
    for (size_t f = 0; f < reader.schema().fields.size(); ++f) {
      reader.read_field(i, f, bytes);
      content.fields.push_back(bytes);
    }
  }
  for (const Field& field : reader.schema().fields) {
    if (!field.column) continue;
    if (field.type == FieldType::string) {
      content.texts = reader.string_column(field.name);
    } else {
      content.numbers = reader.int_column(field.name);
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

// A shard with all that there is: every field type, nulls, columns, records stored raw, compressed, and compressed with a dictionary.
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
    samples.push_back(encode(schema, random_record(schema, random, 400)));
  }
  CompressionOptions plain{.level = 3};
  CompressionOptions with_dictionary{.level = 3, .dictionary = train_dictionary(samples, 512)};
  RecordCompressor compressors[] = {RecordCompressor(CompressionOptions{}), RecordCompressor(plain),
                                    RecordCompressor(with_dictionary)};
  const TempDir dir;
  ShardWriter writer(dir / "a.ffr", schema, {.alignment = 512, .compression = with_dictionary});
  for (size_t i = 0; i < 9; ++i) writer.append(samples[i], compressors[i % 3].compress(samples[i]));
  writer.finish();
  const ShardReader reader(dir / "a.ffr");
  std::set<Codec> codecs;
  for (int64_t i = 0; i < 9; ++i) codecs.insert(reader.locate(i).codec);
  EXPECT_EQ(codecs.size(), 3U) << "the shard must hold every codec";
  return file_bytes(dir / "a.ffr");
}

std::vector<std::byte> make_v1_file() {
  std::string header;
  const auto put = [&header](auto value) {
    header.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const auto crc = [](const std::string& data) {
    return static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
  };
  const std::vector<std::string> records = {"one", "", std::string(100, 'x'), "the last"};
  put(static_cast<int64_t>(records.size()));
  for (const auto& record : records) put(crc(record));
  auto offset = static_cast<int64_t>(12 + 12 * records.size());
  for (const auto& record : records) {
    put(offset);
    offset += static_cast<int64_t>(record.size());
  }
  const uint32_t header_crc = crc(header);
  std::string file(reinterpret_cast<const char*>(&header_crc), 4);
  file += header;
  for (const auto& record : records) file += record;
  const auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

// Flips bit `bit` of every byte in turn. Returns how many flips were found.
size_t flip_everywhere(const std::vector<std::byte>& bytes, int bit) {
  MemoryFile file(bytes);
  const Content whole = read_everything(file.path());
  size_t num_found = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::byte damaged = bytes[at] ^ static_cast<std::byte>(1 << bit);
    file.write(at, std::span(&damaged, 1));
    try {
      EXPECT_EQ(read_everything(file.path()), whole) << "other bytes after damage at " << at;
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
  read_everything(file.path());
  for (size_t size = bytes.size(); size-- > 0;) {
    file.truncate(size);
    try {
      read_everything(file.path());
      ADD_FAILURE() << "a file cut to " << size << " bytes was read";
    } catch (const Error& e) {
      ASSERT_THAT(e.what(), HasSubstr(file.path().string())) << size;
      ASSERT_EQ(e.code(), ErrorCode::corrupt) << e.what();
    }
  }
}

class FlippedBit : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Bits, FlippedBit, ::testing::Range(0, 8));

TEST_P(FlippedBit, OfAShardIsFoundOrIsPadding) {
  const auto bytes = make_shard();
  // Padding between the records and before the index: less than 512 bytes a record and a page.
  EXPECT_GT(flip_everywhere(bytes, GetParam()), bytes.size() - 9 * 512 - 4096);
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

}  // namespace
}  // namespace ffkit
