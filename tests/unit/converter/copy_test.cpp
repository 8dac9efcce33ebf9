#include <ffkit/converter/copy.h>
#include <ffkit/converter/leftovers.h>
#include <ffkit/format/record.h>
#include <ffkit/format/unfinished.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

void write_split(const fs::path& folder, const std::string& split, int64_t num_records) {
  const Schema schema{
      {{.name = "data", .type = FieldType::bytes},
       {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true}}};
  fs::create_directories(folder);
  DatasetWriter writer(folder / split, {.split = split, .schema = schema},
                       {.shard_bytes = 1 << 20});
  RecordBuilder builder(schema);
  for (int64_t i = 0; i < num_records; ++i) {
    const std::vector<std::byte> data(static_cast<size_t>(30'000 + 777 * (i % 5)),
                                      static_cast<std::byte>(i));
    builder.set_bytes(0, data);
    builder.set_scalar<int64_t>(1, i);
    writer.append(testing::encoded(builder));
  }
  writer.finish();
}

fs::path shard_of(const fs::path& set, int number = 0) {
  return set / "train" / fmt::format("shard-{:05}.ffr", number);
}

TEST(Copy, IsTheSameFiles) {
  const TempDir dir;
  write_split(dir / "set", "train", 80);
  write_split(dir / "set", "val", 3);
  const CopySummary summary = copy_dataset(dir / "set", dir / "copy", {});
  EXPECT_EQ(summary.num_records, 83);
  EXPECT_EQ(summary.num_shards, 4);
  EXPECT_EQ(summary.num_equal_shards, 0);
  for (const auto& entry : fs::recursive_directory_iterator(dir / "set")) {
    if (!entry.is_regular_file()) continue;
    const fs::path name = entry.path().lexically_relative(dir / "set");
    EXPECT_EQ(read_file(entry.path()), read_file(dir / "copy" / name)) << name;
  }
  EXPECT_FALSE(fs::exists(dir / "copy" / kUnfinishedMarker));
  // What is whole stays readable.
  CopyOptions options;
  options.progress = [&](const ConvertProgress&) {
    EXPECT_FALSE(fs::exists(dir / "copy" / kUnfinishedMarker));
  };
  EXPECT_EQ(copy_dataset(dir / "set", dir / "copy", options).num_equal_shards, 4);
}

// Whatever byte is changed: the copy ends with an error, or verify() finds nothing wrong either.
TEST(Copy, FindsWhatVerifyFinds) {
  const TempDir dir;
  write_split(dir / "set", "train", 3);
  const std::string whole = read_file(shard_of(dir / "set"));
  const Dataset listed = Dataset::open(dir / "set", "train");
  int num_damaged = 0;
  for (size_t i = 0; i < whole.size(); i += 397) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    std::ofstream(shard_of(dir / "set"), std::ios::binary) << damaged;
    bool is_damaged = false;
    try {
      const ShardReader shard(shard_of(dir / "set"));
      is_damaged = !shard.verify().empty() ||
                   shard.summary().checksum != listed.manifest().shards[0].checksum;
    } catch (const Error&) {
      is_damaged = true;
    }
    const fs::path copy = dir / fmt::format("copy-{}", i);
    if (is_damaged) {
      ++num_damaged;
      EXPECT_ERROR_CODE(copy_dataset(dir / "set", copy, {}), corrupt) << "byte " << i;
      EXPECT_FALSE(fs::exists(shard_of(copy))) << "byte " << i;
    } else {
      copy_dataset(dir / "set", copy, {});
    }
    fs::remove_all(copy);
  }
  EXPECT_GT(num_damaged, 200);
}

TEST(Copy, RefusesOtherDataAndOtherMarkers) {
  const TempDir dir;
  write_split(dir / "set", "train", 3);
  write_split(dir / "other", "train", 4);
  copy_dataset(dir / "other", dir / "there", {});
  EXPECT_ERROR(copy_dataset(dir / "set", dir / "there", {}), invalid_argument);
  EXPECT_ERROR(copy_dataset(dir / "set", dir / "set" / "below", {}), invalid_argument);
  EXPECT_ERROR(copy_dataset(dir / "nothing", dir / "x", {}), not_found);
  EXPECT_ERROR(copy_dataset(dir / "set", dir / "x", {.splits = {"val"}}), not_found);
  fs::create_directories(dir / "marked");
  std::ofstream(dir / "marked" / kUnfinishedMarker)
      << to_text({.kind = "conversion", .plan = "p", .command = "finish it"});
  EXPECT_ERROR(copy_dataset(dir / "set", dir / "marked", {}), invalid_argument);
  EXPECT_ERROR(copy_dataset(dir / "marked", dir / "x", {}), invalid_argument);
  std::ofstream(dir / "marked" / kUnfinishedMarker)
      << to_text({.kind = "copy", .plan = "p", .command = ""});
  EXPECT_ERROR(copy_dataset(dir / "set", dir / "marked", {.resume = true}), invalid_argument);
}

TEST(Copy, GoesOnWhereItEndedEarly) {
  const TempDir dir;
  write_split(dir / "set", "train", 80);
  std::atomic<bool> cancel = false;
  CopyOptions options{.num_threads = 1, .cancel = &cancel};
  options.progress = [&](const ConvertProgress&) { cancel = true; };
  EXPECT_ERROR_CODE(copy_dataset(dir / "set", dir / "copy", options), cancelled);
  EXPECT_TRUE(fs::exists(dir / "copy" / kUnfinishedMarker));
  EXPECT_FALSE(fs::exists(dir / "copy" / "train" / "manifest.json"));
  EXPECT_ERROR(copy_dataset(dir / "set", dir / "copy", {}), invalid_argument);
  const CopySummary summary = copy_dataset(dir / "set", dir / "copy", {.resume = true});
  EXPECT_EQ(summary.num_equal_shards, 1);
  EXPECT_EQ(Dataset::open(dir / "copy", "train").num_records(), 80);
}

TEST(Leftovers, AreNeverWhatAManifestNames) {
  const TempDir dir;
  write_split(dir / "set", "train", 80);
  const std::string shard = read_file(shard_of(dir / "set"));
  for (const char* name : {"shard-00007.ffr", "shard-00001.report.tmp", "gathered.tmp", "my.ffr",
                           "shard-1.ffr", "shard-00001.ffr.bak"}) {
    std::ofstream(dir / "set" / "train" / name) << "x";
  }
  const Leftovers leftovers = find_leftovers(dir / "set");
  EXPECT_EQ(leftovers.found.size(), 3U);
  EXPECT_EQ(leftovers.others.size(), 3U);
  EXPECT_EQ(leftovers.num_in_manifests, 4);
  EXPECT_EQ(remove_leftovers(dir / "set", false).num_removed, 3);
  EXPECT_EQ(read_file(shard_of(dir / "set")), shard);
  EXPECT_TRUE(fs::exists(dir / "set" / "train" / "my.ffr"));
  EXPECT_EQ(Dataset::open(dir / "set", "train").num_records(), 80);
  EXPECT_EQ(find_leftovers(dir / "set").found.size(), 0U);
}

// Shards that have neither a manifest nor a marker may be read by their own names.
TEST(Leftovers, AreNotShardsAlone) {
  const TempDir dir;
  write_split(dir / "set", "train", 3);
  fs::remove(dir / "set" / "train" / "manifest.json");
  EXPECT_EQ(find_leftovers(dir / "set").found.size(), 0U);
  EXPECT_EQ(remove_leftovers(dir / "set", true).num_removed, 0);
  std::ofstream(dir / "set" / kUnfinishedMarker)
      << to_text({.kind = "conversion", .plan = "", .command = ""});
  EXPECT_EQ(find_leftovers(dir / "set").found.size(), 2U);
  EXPECT_EQ(remove_leftovers(dir / "set", false).num_removed, 0);
  EXPECT_EQ(remove_leftovers(dir / "set", true).num_removed, 2);
  EXPECT_ERROR(find_leftovers(dir / "nothing"), not_found);
}

}  // namespace
}  // namespace ffkit
