#include <ctime>

#include <ffkit/format/manifest.h>

#include "dataset/manifest_text.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

// The manifest of two shards, with these texts as the numbers of the first.
std::filesystem::path write_with(const TempDir& dir, const std::string& num_records,
                                 const std::string& file_bytes, const std::string& crc = "1",
                                 const std::string& version = "2") {
  std::ofstream(dir / "manifest.json")
      << R"({"format": "ffkit-dataset", "version": )" << version
      << R"(, "split": "a", "num_records": 3, "source": {}, "options": {}, "classes": [],)"
      << R"( "class_names": [], "schema": {"fields": [{"name": "x", "type": "bytes"}]}, "shards": [)"
      << R"({"file": "a", "num_records": )" << num_records << R"(, "file_bytes": )" << file_bytes
      << R"(, "record_bytes": 9, "raw_bytes": 9, "catalog_crc32c": )" << crc << "},"
      << R"({"file": "b", "num_records": 2, "file_bytes": 8, "record_bytes": 9, "raw_bytes": 9, "catalog_crc32c": 1}]})";
  return dir / "manifest.json";
}

TEST(Manifest, IsReadWithWholeNumbers) {
  const TempDir dir;
  const Manifest manifest = read_manifest(write_with(dir, "1", "5000", "4294967295"));
  EXPECT_EQ(manifest.num_records(), 3);
  EXPECT_EQ(manifest.file_bytes(), 5008);
  EXPECT_EQ(manifest.shards[0].checksum, 0xFFFFFFFF);
}

TEST(Manifest, IsRefusedWithNumbersThatDoNotFit) {
  const TempDir dir;
  const auto read = [&](auto... texts) { return read_manifest(write_with(dir, texts...)); };
  EXPECT_ERROR(read("-1", "1"), corrupt, .subject = dataset);
  EXPECT_ERROR(read("1", "1e300"), corrupt, .subject = dataset);
  EXPECT_ERROR(read("1", "1.5"), corrupt, .subject = dataset);
  EXPECT_ERROR(read("1", "9223372036854775808"), corrupt, .subject = dataset);
  EXPECT_ERROR(read("1", "1", "4294967297"), corrupt, .subject = dataset);
  EXPECT_ERROR(read("1", "\"5\""), corrupt, .subject = dataset);
  EXPECT_ERROR(read("1", "1", "1", "4294967298"), unsupported);
}

TEST(Manifest, KeepsTheIdsOfItsClasses) {
  const TempDir dir;
  Manifest manifest = read_manifest(write_with(dir, "1", "1"));
  EXPECT_TRUE(manifest.class_ids.empty());
  manifest.classes = {"car", "dog"};
  for (const std::vector<ClassId>& ids : {std::vector<ClassId>{3, 90}, {"c", "d"}, {}}) {
    manifest.class_ids = ids;
    write_manifest(dir / "manifest.json", manifest);
    EXPECT_EQ(read_manifest(dir / "manifest.json").class_ids, ids);
  }
  manifest.class_ids = {ClassId(3)};
  write_manifest(dir / "manifest.json", manifest);
  EXPECT_ERROR(read_manifest(dir / "manifest.json"), corrupt, .subject = dataset);
}

// JSON has no other texts; nlohmann's own exception is nobody's outside.
TEST(Manifest, IsNotWrittenWithTextsThatAreNotUtf8) {
  const TempDir dir;
  const Manifest whole = read_manifest(write_with(dir, "1", "1"));
  const std::string bad = "caf\xe9";
  const auto refuses = [&](const auto& spoil) {
    Manifest manifest = whole;
    spoil(manifest);
    EXPECT_ERROR(write_manifest(dir / "other.json", manifest), invalid_argument,
                 .path = dir / "other.json", .subject = argument);
    EXPECT_FALSE(std::filesystem::exists(dir / "other.json"));
  };
  refuses([&](Manifest& m) { m.split = bad; });
  refuses([&](Manifest& m) { m.classes = {"a", bad}; });
  refuses([&](Manifest& m) { m.class_names = {bad}; });
  refuses([&](Manifest& m) { m.class_ids = {ClassId(3), ClassId(bad)}; });
  refuses([&](Manifest& m) { m.source["path"] = bad; });
  refuses([&](Manifest& m) { m.source[bad] = ""; });
  refuses([&](Manifest& m) { m.options["x"] = bad; });
  refuses([&](Manifest& m) { m.created_by = bad; });
  refuses([&](Manifest& m) { m.shards[0].file = bad; });
  refuses([&](Manifest& m) { m.schema.fields[0].name = bad; });
}

TEST(Manifest, IsReadInLinearTimeWithManyKeys) {
  const TempDir dir;
  Manifest manifest = read_manifest(write_with(dir, "1", "1"));
  constexpr int kKeys = 200'000;
  for (int i = 0; i < kKeys; ++i) manifest.options["key_" + std::to_string(i)] = "";
  write_manifest(dir / "manifest.json", manifest);
  const std::clock_t start = std::clock();
  EXPECT_EQ(read_manifest(dir / "manifest.json").options.size(), size_t{kKeys});
  // 0.2 s; with a search through all keys for each, minutes.
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5);
}

TEST(Manifest, IsRefusedWhenItsSplitLeadsElsewhere) {
  const TempDir dir;
  Manifest manifest = read_manifest(write_with(dir, "1", "1"));
  for (const char* split : {"../x", "/x", "..", "."}) {
    manifest.split = split;
    write_manifest(dir / "manifest.json", manifest);
    EXPECT_ERROR(read_manifest(dir / "manifest.json"), corrupt, .subject = dataset);
  }
}

TEST(Manifest, IsRefusedWhenItListsAShardTwice) {
  const TempDir dir;
  Manifest manifest = read_manifest(write_with(dir, "1", "1"));
  manifest.shards[1].file = manifest.shards[0].file;
  write_manifest(dir / "manifest.json", manifest);
  EXPECT_ERROR(read_manifest(dir / "manifest.json"), corrupt, .subject = dataset);
}

// The system would end these names at the null, and open the shard itself.
TEST(Manifest, IsRefusedWithNullsInNames) {
  const TempDir dir;
  const Manifest whole = read_manifest(write_with(dir, "1", "1"));
  Manifest manifest = whole;
  manifest.shards[0].file = std::string("a\0x", 3);
  write_manifest(dir / "manifest.json", manifest);
  EXPECT_ERROR(read_manifest(dir / "manifest.json"), corrupt, .subject = dataset);
  manifest = whole;
  manifest.split = std::string("a\0x", 3);
  write_manifest(dir / "manifest.json", manifest);
  EXPECT_ERROR(read_manifest(dir / "manifest.json"), corrupt, .subject = dataset);
}

// As a power cut leaves files on some file systems; the JSON before it is whole.
TEST(Manifest, IsRefusedWithNullsBehindIt) {
  const TempDir dir;
  const auto path = write_with(dir, "1", "1");
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size + 100);
  EXPECT_ERROR(read_manifest(path), corrupt, .path = path, .subject = dataset);
}

TEST(Manifest, IsRefusedWhenItsSumsDoNotFit) {
  const TempDir dir;
  const auto read = [&](auto... texts) { return read_manifest(write_with(dir, texts...)); };
  EXPECT_ERROR(read("9223372036854775807", "1"), corrupt, .subject = dataset);
  EXPECT_ERROR(read("1", "9223372036854775807"), corrupt, .subject = dataset);
  EXPECT_ERROR(read("2", "1"), corrupt, .subject = dataset);
}

TEST(SplitName, IsThatOfAFolder) {
  for (const char* name : {"train", "val", "train2017", "my val", "mini_train_sweeps", "züge"}) {
    EXPECT_EQ(fault_of_split_name(name), "") << name;
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("/x"),
        std::string("a/b"), std::string(".ffkit-unfinished"), std::string("a\nb"),
        std::string("a\0b", 3), std::string("\x1b[2J"), std::string("\xff"),
        std::string("report.jsonl"), std::string(201, 'x')}) {
    EXPECT_NE(fault_of_split_name(name), "") << name;
  }
}

}  // namespace

}  // namespace ffkit
