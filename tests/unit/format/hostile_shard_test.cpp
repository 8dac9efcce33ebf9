// Shards whose checksums are right and whose contents are not: each check of the reader says what
// it has found.
#include <nlohmann/json.hpp>

#include <ffkit/base/compression.h>
#include <ffkit/base/crc32c.h>
#include <ffkit/format/shard_reader.h>

#include "base/little_endian.h"
#include "format_prelude.h"
#include "memory_file.h"
#include "seeds/reseal.h"
#include "shard/shard_layout.h"

namespace ffkit {
namespace {

using testing::MemoryFile;

const Schema kLabelled{
    {{.name = "label", .type = FieldType::scalar, .dtype = DType::i32, .column = true},
     {.name = "data", .type = FieldType::bytes}}};

std::vector<std::byte> labelled_record(int32_t label) {
  RecordBuilder builder(kLabelled);
  builder.set_scalar<int32_t>(0, label);
  const std::vector<std::byte> data(300,
                                    static_cast<std::byte>(label));  // the builder keeps no copy
  builder.set_bytes(1, data);
  return testing::encoded(builder);
}

// A shard of three records.
std::vector<std::byte> labelled_shard() {
  const TempDir dir;
  ShardWriter writer(dir / "a.ffr", kLabelled, {.alignment = 512});
  for (const int32_t label : {1, 2, 3}) writer.append(labelled_record(label));
  writer.finish();
  std::ifstream in(dir / "a.ffr", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

nlohmann::json catalog_of(const std::vector<std::byte>& shard) {
  const fuzzing::Place place = fuzzing::find_catalog(shard);
  const auto* text = reinterpret_cast<const char*>(shard.data()) + place.offset;
  return nlohmann::json::parse(text, text + place.size);
}

class HostileShard : public ::testing::Test {
 protected:
  // Opens what `change` has made of the shard and locates its second record.
  void locate_after(const std::function<void(std::byte* entry)>& change) {
    std::vector<std::byte> shard = labelled_shard();
    const auto entries = catalog_of(shard)["streams"][0];
    ASSERT_EQ(entries["name"], "entries");
    change(shard.data() + entries["offset"].get<size_t>() + kEntryBytes);
    fuzzing::reseal_shard(shard, {.records = false, .catalog = true});
    const MemoryFile file(shard);
    static_cast<void>(ShardReader(file.path()).locate(1));
  }
  // Opens the shard after `change` of its catalog.
  void open_after(const std::function<void(nlohmann::json& catalog)>& change) {
    std::vector<std::byte> shard = labelled_shard();
    nlohmann::json catalog = catalog_of(shard);
    change(catalog);
    const fuzzing::Place place = fuzzing::find_catalog(shard);
    const std::string text = catalog.dump();
    const auto bytes = std::as_bytes(std::span(text));
    const auto begin = shard.begin() + static_cast<ptrdiff_t>(place.offset);
    shard.insert(shard.erase(begin, begin + static_cast<ptrdiff_t>(place.size)), bytes.begin(),
                 bytes.end());
    const MemoryFile file(sealed(std::move(shard), text.size()));
    const ShardReader reader(file.path());
  }
  // With a trailer that fits a catalog of `catalog_bytes`.
  static std::vector<std::byte> sealed(std::vector<std::byte> shard, uint64_t catalog_bytes) {
    std::byte* const trailer = shard.data() + shard.size() - kTrailerBytes;
    const auto offset = load_le<uint64_t>(trailer);
    store_le(trailer + 8, catalog_bytes);
    store_le(trailer + 16, crc32c(std::span(shard).subspan(offset, catalog_bytes)));
    store_le(trailer + 32, uint64_t{shard.size()});
    seal(trailer);
    return shard;
  }
  static void seal(std::byte* trailer) {
    store_le(trailer + 56, crc32c({trailer + 60, 4}, crc32c({trailer, 56})));
  }
};

TEST_F(HostileShard, RecordsOutsideOfItAreRefused) {
  const auto expect_refusal = [&](size_t at, uint64_t number) {
    const auto change = [&](std::byte* entry) { store_le(entry + at, number); };
    EXPECT_ERROR(locate_after(change), corrupt, .record = 1, .subject = sample);
  };
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4095}, uint64_t{1} << 40}) {
    expect_refusal(0, offset);
  }
  for (const uint64_t length : {uint64_t{0}, uint64_t{1} << 20, ~uint64_t{0}}) {
    expect_refusal(8, length);
  }
  EXPECT_NO_THROW(locate_after([](std::byte*) {}));
}

TEST_F(HostileShard, RecordsOfTwoLengthsAreRefused) {
  EXPECT_ERROR(locate_after([](std::byte* entry) { store_le(entry + 16, uint64_t{1}); }), corrupt,
               .record = 1, .subject = sample);
}

TEST_F(HostileShard, ColumnsThatAreMissingOrOfAnotherLengthAreRefused) {
  const auto label_stream = [](nlohmann::json& catalog) -> nlohmann::json& {
    for (nlohmann::json& stream : catalog["streams"]) {
      if (stream["name"] == "column/label") return stream;
    }
    throw std::logic_error("there is no such stream");
  };
  EXPECT_NO_THROW(open_after([](nlohmann::json&) {}));
  EXPECT_ERROR(open_after([&](nlohmann::json& c) { label_stream(c)["name"] = "column/other"; }),
               corrupt, .subject = shard);
  EXPECT_ERROR(open_after([&](nlohmann::json& c) { label_stream(c)["num_bytes"] = 8; }), corrupt,
               .subject = shard);
}

TEST_F(HostileShard, ATrailerOfANewerVersionIsRefused) {
  std::vector<std::byte> shard = labelled_shard();
  std::byte* const trailer = shard.data() + shard.size() - kTrailerBytes;
  store_le(trailer + 20, uint32_t{3});
  seal(trailer);
  const MemoryFile file(shard);
  EXPECT_ERROR(ShardReader(file.path()), unsupported, .subject = shard);
}

TEST_F(HostileShard, AFrameThatIsCutIsRefusedInTheWordsOfZstd) {
  const TempDir dir;
  const std::vector<std::byte> record = labelled_record(1);
  RecordCompressor compressor({.level = 3});
  const auto frame = compressor.compress(record).bytes;
  ASSERT_LT(frame.size(), record.size());
  const auto cut = frame.first(frame.size() - 3);
  ShardWriter writer(dir / "a.ffr", kLabelled);
  writer.append(record, {.bytes = cut, .crc32c = crc32c(cut), .codec = Codec::zstd});
  writer.finish();
  std::vector<std::byte> out;
  EXPECT_ERROR(ShardReader(dir / "a.ffr").read(0, out), corrupt, .record = 0, .subject = sample);
}

}  // namespace
}  // namespace ffkit
