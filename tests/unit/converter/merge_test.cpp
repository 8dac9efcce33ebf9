#include <sys/file.h>

#include <ffkit/converter/v1.h>
#include <ffkit/format/unfinished.h>

#include "converter_prelude.h"
#include "merge/shard_mover.h"

namespace ffkit {
namespace {

struct SplitSpec {
  std::string split = "train";
  int64_t first = 0;
  int64_t num_records = 4;
  std::vector<std::string> classes = {"cat", "dog"};
  bool has_id = true;
  std::string seed = "1";
};

void write_split(const fs::path& folder, const SplitSpec& spec) {
  fs::create_directories(folder);
  Schema schema = image_classification_schema();
  if (!spec.has_id) schema.fields.pop_back();
  DatasetWriter writer(folder / spec.split,
                       {.split = spec.split,
                        .schema = schema,
                        .classes = spec.classes,
                        .options = {{"seed", spec.seed}, {"order", "sequential"}}},
                       {.shard_bytes = 1 << 20});
  RecordBuilder builder(schema);
  for (int64_t i = spec.first; i < spec.first + spec.num_records; ++i) {
    const std::vector<std::byte> image(400'000, static_cast<std::byte>(i));
    builder.set_bytes(0, image);
    builder.set_scalar<int64_t>(1, i);
    const std::string id = std::to_string(i);
    if (spec.has_id) builder.set_string(2, id);
    writer.append(testing::encoded(builder));
  }
  writer.finish();
}

// Two shards of 3 + 1 records, and a val split of one.
void write_two_splits(const fs::path& folder, int64_t first) {
  write_split(folder, {.first = first});
  write_split(folder, {.split = "val", .first = first + 100, .num_records = 1});
}

std::vector<int64_t> labels(const fs::path& folder, const std::string& split) {
  const Dataset dataset = Dataset::open(folder, split);
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    EXPECT_TRUE(dataset.shard(i).verify().empty());
  }
  return dataset.int_column("label");
}

ino_t inode(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder));
  }
  std::ranges::sort(names);
  return names;
}

TEST(Merge, JoinsSplitsOfTheSameNameInOrder) {
  const TempDir dir;
  write_two_splits(dir / "a", 0);
  write_two_splits(dir / "b", 10);
  write_split(dir / "b", {.split = "test", .first = 7, .num_records = 1, .seed = "2"});
  const ConvertSummary summary = merge_datasets(dir / "out", {dir / "b", dir / "a"}, {});
  EXPECT_EQ(summary.splits.size(), 3U);
  EXPECT_EQ(summary.num_records(), 11);
  EXPECT_THAT(labels(dir / "out", "train"), ElementsAre(10, 11, 12, 13, 0, 1, 2, 3));
  EXPECT_THAT(labels(dir / "out", "val"), ElementsAre(110, 100));
  EXPECT_THAT(labels(dir / "out", "test"), ElementsAre(7));
  EXPECT_THAT(files_in(dir / "out"),
              ElementsAre("test/manifest.json", "test/shard-00000.ffr", "train/manifest.json",
                          "train/shard-00000.ffr", "train/shard-00001.ffr", "train/shard-00002.ffr",
                          "train/shard-00003.ffr", "val/manifest.json", "val/shard-00000.ffr",
                          "val/shard-00001.ffr"));
  // By hard links, so the sources are whole.
  EXPECT_EQ(inode(dir / "out/train/shard-00002.ffr"), inode(dir / "a/train/shard-00000.ffr"));
  EXPECT_THAT(labels(dir / "a", "train"), ElementsAre(0, 1, 2, 3));
  const Manifest manifest = Dataset::open(dir / "out", "train").manifest();
  EXPECT_THAT(manifest.classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(manifest.source.at("path_1"), fs::canonical(dir / "b/train"));
  EXPECT_EQ(manifest.source.at("path_2"), fs::canonical(dir / "a/train"));
  EXPECT_EQ(manifest.options.at("seed"), "1");
}

TEST(Merge, KeepsOptionsThatAgree) {
  const TempDir dir;
  write_split(dir / "a", {.seed = "1"});
  write_split(dir / "b", {.first = 10, .seed = "2"});
  merge_datasets(dir / "out", {dir / "a", dir / "b"}, {});
  const auto options = Dataset::open(dir / "out", "train").manifest().options;
  EXPECT_EQ(options.count("seed"), 0U);
  EXPECT_EQ(options.at("order"), "sequential");
}

TEST(Merge, CopiesOnRequest) {
  const TempDir dir;
  write_split(dir / "a", {});
  merge_datasets(dir / "out", {dir / "a"}, {.transfer = ShardTransfer::copy});
  EXPECT_NE(inode(dir / "out/train/shard-00000.ffr"), inode(dir / "a/train/shard-00000.ffr"));
  EXPECT_EQ(testing::read_file(dir / "out/train/shard-00001.ffr"),
            testing::read_file(dir / "a/train/shard-00001.ffr"));
  EXPECT_THAT(labels(dir / "out", "train"), ElementsAre(0, 1, 2, 3));
}

// /dev/shm is a file system of its own nearly everywhere.
TEST(Merge, CopiesWithANoteWhereItCannotLink) {
  const TempDir dir;
  std::string other = "/dev/shm/ffkit-test-XXXXXX";
  if (mkdtemp(other.data()) == nullptr) GTEST_SKIP() << "/dev/shm cannot be written";
  struct stat a {};
  struct stat b {};
  ASSERT_EQ(::stat(other.c_str(), &a), 0);
  ASSERT_EQ(::stat(dir.path().c_str(), &b), 0);
  if (a.st_dev == b.st_dev) {
    fs::remove(other);
    GTEST_SKIP() << "/dev/shm is the file system of the temporary folder";
  }
  write_two_splits(fs::path(other) / "a", 0);
  std::vector<std::string> notes;
  merge_datasets(dir / "out", {fs::path(other) / "a"},
                 {.transfer = ShardTransfer::move,
                  .note = [&](const std::string& note) { notes.push_back(note); }});
  ASSERT_EQ(notes.size(), 2U);  // one a split, not one a shard
  EXPECT_THAT(notes[0], ::testing::HasSubstr("cannot be linked to"));
  EXPECT_THAT(labels(dir / "out", "train"), ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(fs::exists(fs::path(other) / "a"));
  fs::remove_all(other);
}

TEST(Merge, MovesAndRemovesWhatIsEmptyThen) {
  const TempDir dir;
  write_two_splits(dir / "a", 0);
  write_two_splits(dir / "b", 10);
  testing::write_file(dir / "b/report.jsonl", "{}");
  const ino_t shard = inode(dir / "a/train/shard-00001.ffr");
  merge_datasets(dir / "out", {dir / "a", dir / "b"}, {.transfer = ShardTransfer::move});
  EXPECT_EQ(inode(dir / "out/train/shard-00001.ffr"), shard);
  EXPECT_THAT(labels(dir / "out", "train"), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  EXPECT_FALSE(fs::exists(dir / "a"));
  EXPECT_THAT(files_in(dir / "b"), ElementsAre("report.jsonl"));
}

TEST(Merge, LeavesEverythingAsItWasOnAnError) {
  const TempDir dir;
  write_two_splits(dir / "a", 0);
  write_two_splits(dir / "b", 10);
  const std::atomic<bool> cancel{true};
  const MergeOptions options{.transfer = ShardTransfer::move, .cancel = &cancel};
  EXPECT_ERROR(merge_datasets(dir / "out", {dir / "a", dir / "b"}, options), cancelled);
  EXPECT_FALSE(fs::exists(dir / "out"));
  EXPECT_THAT(labels(dir / "a", "train"), ElementsAre(0, 1, 2, 3));

  fs::resize_file(dir / "b/train/shard-00000.ffr", 5000);
  EXPECT_ERROR(merge_datasets(dir / "out", {dir / "a", dir / "b"}, {}), corrupt, .subject = shard);
  EXPECT_FALSE(fs::exists(dir / "out"));
}

TEST(Merge, StartsOverAfterAKill) {
  const TempDir dir;
  write_two_splits(dir / "a", 0);
  testing::write_file(dir / "out" / kUnfinishedMarker, to_text({.kind = "conversion"}));
  testing::write_file(dir / "out/train/shard-00007.ffr", "old");
  EXPECT_ERROR(merge_datasets(dir / "out", {dir / "a"}, {}), invalid_argument);
  EXPECT_TRUE(fs::exists(dir / "out/train/shard-00007.ffr"));
  testing::write_file(dir / "out" / kUnfinishedMarker, to_text({.kind = "merge"}));
  std::vector<std::string> notes;
  merge_datasets(dir / "out", {dir / "a"},
                 {.note = [&](const std::string& note) { notes.push_back(note); }});
  EXPECT_THAT(notes,
              ElementsAre(::testing::HasSubstr("an unfinished merge was found and removed")));
  EXPECT_FALSE(fs::exists(dir / "out/train/shard-00007.ffr"));
  EXPECT_THAT(labels(dir / "out", "train"), ElementsAre(0, 1, 2, 3));
}

TEST(Merge, RefusesWhatDoesNotGoTogether) {
  const TempDir dir;
  write_split(dir / "a", {});
  write_split(dir / "ids", {.has_id = false});
  write_split(dir / "three", {.classes = {"cat", "dog", "newt"}});
  write_split(dir / "other", {.split = "val", .classes = {"cat", "cow"}});
  write_split(dir / "none", {.classes = {}});
  write_v1({Dataset::open(dir / "a", "train")}, dir / "v1", {});
  const auto refused = [&](const fs::path& b) {
    EXPECT_ERROR(merge_datasets(dir / "out", {dir / "a", b}, {}), invalid_argument);
    EXPECT_ERROR(append_datasets(dir / "a", {b}, {}), invalid_argument);
    EXPECT_FALSE(fs::exists(dir / "out"));
  };
  refused(dir / "ids");
  refused(dir / "three");
  refused(dir / "other");
  refused(dir / "none");
  refused(dir / "v1");
  refused(dir / "a");
  refused(dir / "a/../a/");
  refused(dir / "a/train");
  fs::create_directory_symlink(dir / "a", dir / "alias");
  refused(dir / "alias");
  EXPECT_ERROR(merge_datasets(dir / "out", {dir / "nowhere"}, {}), not_found);
  EXPECT_ERROR(merge_datasets(dir / "out", {}, {}), invalid_argument);
  EXPECT_ERROR(merge_datasets(dir / "a/out", {dir / "a"}, {}), invalid_argument);
  EXPECT_ERROR(merge_datasets(dir / "ids", {dir / "a"}, {}), invalid_argument);
  testing::write_file(dir / "three" / kUnfinishedMarker, "");
  refused(dir / "three");
}

TEST(Append, AddsBehindWhatIsThere) {
  const TempDir dir;
  write_split(dir / "dst", {});
  write_two_splits(dir / "a", 10);
  write_two_splits(dir / "b", 20);
  const ino_t own = inode(dir / "dst/train/shard-00001.ffr");
  const ConvertSummary summary = append_datasets(dir / "dst", {dir / "a", dir / "b"}, {});
  EXPECT_EQ(summary.num_records(), 14);
  EXPECT_THAT(labels(dir / "dst", "train"),
              ElementsAre(0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23));
  EXPECT_THAT(labels(dir / "dst", "val"), ElementsAre(110, 120));
  EXPECT_EQ(inode(dir / "dst/train/shard-00001.ffr"), own);
  EXPECT_EQ(inode(dir / "dst/train/shard-00002.ffr"), inode(dir / "a/train/shard-00000.ffr"));
  const Manifest manifest = Dataset::open(dir / "dst", "train").manifest();
  EXPECT_EQ(manifest.options.at("seed"), "1");
  EXPECT_EQ(manifest.source.at("appended_2"), fs::canonical(dir / "b/train"));
}

TEST(Append, SkipsNamesThatAnInterruptedOneLeft) {
  const TempDir dir;
  write_split(dir / "dst", {});
  write_split(dir / "a", {.first = 10});
  testing::write_file(dir / "dst/train/shard-00002.ffr", "left behind");
  append_datasets(dir / "dst", {dir / "a"}, {});
  EXPECT_THAT(labels(dir / "dst", "train"), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  EXPECT_EQ(testing::read_file(dir / "dst/train/shard-00002.ffr"), "left behind");
  EXPECT_THAT(files_in(dir / "dst/train"),
              ElementsAre("manifest.json", "shard-00000.ffr", "shard-00001.ffr", "shard-00002.ffr",
                          "shard-00003.ffr", "shard-00004.ffr"));
}

TEST(Append, FinishesWhatWasKilledBetweenTwoManifests) {
  const TempDir dir;
  write_split(dir / "dst", {});
  write_two_splits(dir / "a", 10);
  // As if only train's manifest had been replaced.
  append_datasets(dir / "dst", {dir / "a"}, {});
  fs::remove(dir / "dst/val/manifest.json");
  std::vector<std::string> notes;
  append_datasets(dir / "dst", {dir / "a"},
                  {.note = [&](const std::string& note) { notes.push_back(note); }});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], ::testing::HasSubstr("split 'train' are already in the destination"));
  EXPECT_THAT(labels(dir / "dst", "train"), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  EXPECT_THAT(labels(dir / "dst", "val"), ElementsAre(110));
  EXPECT_ERROR(append_datasets(dir / "dst", {dir / "a"}, {}), invalid_argument);
}

TEST(Append, LeavesTheDataSetAsItWasOnAnError) {
  const TempDir dir;
  write_split(dir / "dst", {});
  write_two_splits(dir / "a", 10);
  const auto before = files_in(dir / "dst");
  const std::string manifest = testing::read_file(dir / "dst/train/manifest.json");
  const std::atomic<bool> cancel{true};
  EXPECT_ERROR(append_datasets(dir / "dst", {dir / "a"}, {.cancel = &cancel}), cancelled);
  EXPECT_EQ(files_in(dir / "dst"), before);
  // The second split fails when the first one's shards are there: val cannot be a folder.
  testing::write_file(dir / "dst/val", "a file");
  EXPECT_ERROR(append_datasets(dir / "dst", {dir / "a"}, {.transfer = ShardTransfer::move}), io);
  fs::remove(dir / "dst/val");
  EXPECT_EQ(files_in(dir / "dst"), before);
  EXPECT_EQ(testing::read_file(dir / "dst/train/manifest.json"), manifest);
  EXPECT_THAT(labels(dir / "a", "val"), ElementsAre(110));
  EXPECT_THAT(labels(dir / "a", "train"), ElementsAre(10, 11, 12, 13));
  // Nor is a manifest that cannot be written followed by shards that stay.
  fs::create_directory(dir / "dst/train/manifest.json.tmp");
  EXPECT_ERROR(append_datasets(dir / "dst", {dir / "a"}, {}), io);
  fs::remove(dir / "dst/train/manifest.json.tmp");
  EXPECT_EQ(files_in(dir / "dst"), before);
}

TEST(Append, MovesOnRequest) {
  const TempDir dir;
  write_split(dir / "dst", {});
  write_two_splits(dir / "a", 10);
  append_datasets(dir / "dst", {dir / "a"}, {.transfer = ShardTransfer::move});
  EXPECT_FALSE(fs::exists(dir / "a"));
  EXPECT_THAT(labels(dir / "dst", "train"), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
}

TEST(Append, RefusesAFolderThatIsNoDataSetOrInUse) {
  const TempDir dir;
  write_split(dir / "a", {});
  fs::create_directory(dir / "empty");
  EXPECT_ERROR(append_datasets(dir / "none", {dir / "a"}, {}), not_found);
  EXPECT_ERROR(append_datasets(dir / "empty", {dir / "a"}, {}), not_found);
  write_split(dir / "dst", {});
  const int fd = ::open((dir / "dst").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  EXPECT_ERROR(append_datasets(dir / "dst", {dir / "a"}, {}), invalid_argument);
  ::close(fd);
}

TEST(ShardMover, KnowsWhatItWillCopy) {
  const TempDir dir;
  MergeOptions options;
  const ShardMover linking(options);
  EXPECT_FALSE(linking.will_copy(dir.path(), dir.path()));
  EXPECT_FALSE(linking.will_copy(dir / "nowhere", dir.path()));
  EXPECT_TRUE(linking.will_copy("/proc", dir.path())) << "another file system";
  options.transfer = ShardTransfer::copy;
  EXPECT_TRUE(ShardMover(options).will_copy(dir.path(), dir.path()));
}

}  // namespace
}  // namespace ffkit
