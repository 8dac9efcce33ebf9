#include "output/destination.h"

#include "converter_prelude.h"
#include "output/destination_checks.h"

namespace ffkit {
namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().lexically_relative(folder));
  }
  std::ranges::sort(names);
  return names;
}

// What a conversion that was killed leaves.
void leave_unfinished(const fs::path& folder) {
  write_file(folder / kUnfinishedMarker, "old");
  write_file(folder / "report.jsonl", "{}");
  write_file(folder / "train" / "shard-00000.ffr", "whole");
  write_file(folder / "train" / "shard-00001.ffr.tmp", "half");
  write_file(folder / "val" / "manifest.json", "{}");
}

TEST(Destination, IsMarkedUntilCommitted) {
  const TempDir dir;
  const auto destination = Destination::claim(dir / "a/b/out/");
  EXPECT_TRUE(fs::exists(dir / "a/b/out" / kUnfinishedMarker));
  write_file(dir / "a/b/out/train/shard-00000.ffr", "x");
  destination->commit();
  EXPECT_THAT(names_in(dir / "a/b/out"), ElementsAre("train", "train/shard-00000.ffr"));
}

TEST(Destination, StaysAfterCommit) {
  const TempDir dir;
  {
    const auto destination = Destination::claim(dir / "out");
    write_file(dir / "out/train/manifest.json", "x");
    destination->commit();
  }
  EXPECT_TRUE(fs::exists(dir / "out/train/manifest.json"));
}

TEST(Destination, LeavesNothingWithoutCommit) {
  const TempDir dir;
  {
    const auto destination = Destination::claim(dir / "a/b/out");
    write_file(dir / "a/b/out/train/shard-00000.ffr.tmp", "x");
    write_file(dir / "a/b/out/report.jsonl", "x");
  }
  EXPECT_THAT(names_in(dir.path()), IsEmpty());
}

TEST(Destination, KeepsAFolderThatWasThere) {
  const TempDir dir;
  fs::create_directory(dir / "out");
  { const auto destination = Destination::claim(dir / "out"); }
  EXPECT_THAT(names_in(dir.path()), ElementsAre("out"));
}

TEST(Destination, WorksWithARelativePath) {
  const TempDir dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  { const auto destination = Destination::claim("out"); }
  {
    const auto destination = Destination::claim("deep/out");
    destination->commit();
  }
  fs::current_path(before);
  EXPECT_THAT(names_in(dir.path()), ElementsAre("deep", "deep/out"));
}

TEST(Destination, RefusesWhatItDidNotMake) {
  const TempDir dir;
  write_file(dir / "full/precious.txt", "x");
  write_file(dir / "done/train/manifest.json", "{}");
  write_file(dir / "file", "x");
  const auto before = names_in(dir.path());
  EXPECT_ERROR(Destination::claim(dir / "full"), invalid_argument);
  EXPECT_ERROR(Destination::claim(dir / "done"), invalid_argument);
  EXPECT_ERROR(Destination::claim(dir / "file"), invalid_argument);
  EXPECT_ERROR(Destination::claim(dir / "file/out"), io);
  EXPECT_EQ(names_in(dir.path()), before);
}

TEST(Destination, RefusesASecondConversion) {
  const TempDir dir;
  const auto first = Destination::claim(dir / "out");
  write_file(dir / "out/train/shard-00000.ffr", "x");
  EXPECT_ERROR(Destination::claim(dir / "out"), invalid_argument);
  EXPECT_TRUE(fs::exists(dir / "out/train/shard-00000.ffr"));
  EXPECT_TRUE(fs::exists(dir / "out" / kUnfinishedMarker));
}

TEST(Destination, StartsOverAfterAKill) {
  const TempDir dir;
  leave_unfinished(dir / "out");
  const auto destination = Destination::claim(dir / "out");
  EXPECT_TRUE(destination->started_over());
  EXPECT_THAT(names_in(dir / "out"), ElementsAre(kUnfinishedMarker));
}

TEST(Destination, KeepsForeignFilesInAnUnfinishedFolder) {
  for (const std::string foreign :
       {"notes.txt", "train/notes.txt", "train/deep/shard-00000.ffr", "val/shard-00000.ffr.bak"}) {
    const TempDir dir;
    leave_unfinished(dir / "out");
    write_file(dir / "out" / foreign, "mine");
    const auto before = names_in(dir / "out");
    EXPECT_ERROR(Destination::claim(dir / "out"), invalid_argument);
    EXPECT_EQ(names_in(dir / "out"), before) << foreign;
  }
}

// The shards of a conversion lie in folders of their splits; a split's own lie in its folder.
TEST(Destination, ShardsBesideSplitsAreForeign) {
  const TempDir dir;
  using enum Destination::Kind;
  for (const std::string name : {"shard-00000.ffr", "manifest.json"}) {
    { Destination::claim(dir / "out", {.kind = split})->keep(); }
    write_file(dir / "out" / name, "mine");
    EXPECT_ERROR(Destination::claim(dir / "out", {.kind = conversion}), invalid_argument);
    EXPECT_TRUE(fs::exists(dir / "out" / name));
    EXPECT_TRUE(Destination::claim(dir / "out", {.kind = split})->started_over());
    EXPECT_FALSE(fs::exists(dir / "out" / name));
  }
}

TEST(Destination, OfASplitIsAnEmptyFolder) {
  const TempDir dir;
  using enum Destination::Kind;
  write_file(dir / "a/notes.txt", "x");
  EXPECT_ERROR(Destination::claim(dir / "a", {.kind = split}), invalid_argument);
  write_file(dir / "b/manifest.json", "{}");
  EXPECT_ERROR(Destination::claim(dir / "b", {.kind = split}), invalid_argument);
  EXPECT_ERROR(Destination::claim(dir / "b", {.kind = conversion}), invalid_argument);
  write_file(dir / "c" / kUnfinishedMarker, "old");
  write_file(dir / "c/notes.txt", "x");
  EXPECT_ERROR(Destination::claim(dir / "c", {.kind = split}), invalid_argument);
}

TEST(Destination, NeverFollowsLinksOutOfTheFolder) {
  const TempDir dir;
  write_file(dir / "elsewhere/shard-00000.ffr", "precious");
  leave_unfinished(dir / "out");
  fs::create_directory_symlink(dir / "elsewhere", dir / "out/test");
  EXPECT_ERROR(Destination::claim(dir / "out"), invalid_argument);
  EXPECT_TRUE(fs::exists(dir / "elsewhere/shard-00000.ffr"));
}

TEST(Destination, KeepsAConversionsWorkWithoutCommit) {
  for (const std::string work : {"train/shard-00000.ffr", "train/gathered.tmp"}) {
    const TempDir dir;
    {
      const auto destination = Destination::claim(dir / "out");
      EXPECT_FALSE(destination->holds_work());
      write_file(dir / "out" / work, "x");
      EXPECT_TRUE(destination->holds_work());
    }
    EXPECT_THAT(names_in(dir / "out"), ElementsAre(kUnfinishedMarker, "train", work));
    EXPECT_TRUE(
        Destination::claim(dir / "out", {.unfinished = Destination::Unfinished::go_on})->goes_on());
    // What is made again at once goes.
    fs::remove_all(dir / "out");
    {
      const auto destination = Destination::claim(dir / "out", {.kind = Destination::Kind::merge});
      write_file(dir / "out" / work, "x");
    }
    EXPECT_FALSE(fs::exists(dir / "out"));
  }
}

TEST(Destination, AMergeDoesNotRemoveAConversion) {
  using Kind = Destination::Kind;
  const auto leave = [](const fs::path& folder, Kind kind) {
    const auto destination = Destination::claim(folder, {.kind = kind, .command = "the command"});
    write_file(folder / "train/shard-00000.ffr", "x");
    destination->keep();
  };
  for (const Kind kind : {Kind::merge, Kind::v1}) {
    const TempDir dir;
    leave(dir / "out", Kind::conversion);
    const auto before = names_in(dir.path());
    EXPECT_ERROR(Destination::claim(dir / "out", {.kind = kind}), invalid_argument);
    leave_unfinished(dir / "old");
    EXPECT_ERROR(Destination::claim(dir / "old", {.kind = kind}), invalid_argument);
    fs::remove_all(dir / "old");
    EXPECT_EQ(names_in(dir.path()), before);
    // But what it left itself, and a conversion without a finished shard.
    leave(dir / "merged", Kind::merge);
    EXPECT_TRUE(Destination::claim(dir / "merged", {.kind = kind})->started_over());
    { Destination::claim(dir / "begun")->keep(); }
    EXPECT_TRUE(Destination::claim(dir / "begun", {.kind = kind})->started_over());
    // Nor does a conversion go on with a merge.
    leave(dir / "merged", Kind::merge);
    EXPECT_ERROR(Destination::claim(dir / "merged", {.unfinished = Destination::Unfinished::go_on}),
                 invalid_argument);
    EXPECT_TRUE(Destination::claim(dir / "merged")->started_over());
  }
}

TEST(DestinationChecks, WhatWasRemovedCanBeWrittenElsewhereOrInSmallerShards) {
  const auto end_with = [](int error) {
    throw after_removal({ErrorCode::io, "writing failed", {.path = "x", .errno_value = error}});
  };
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EIO}) EXPECT_ERROR(end_with(error), io);
}

TEST(DestinationChecks, SpaceIsThatOfTheDisk) {
  const TempDir dir;
  const int64_t num_free = free_space(dir.path());
  EXPECT_GT(num_free, 0);
  EXPECT_LE(num_free, static_cast<int64_t>(fs::space(dir.path()).capacity));
  EXPECT_EQ(free_space(dir / "none"), std::numeric_limits<int64_t>::max());
  require_free_space(1, dir.path());
  EXPECT_ERROR_CODE(require_free_space(std::numeric_limits<int64_t>::max() - 1, dir.path()), io);
}

}  // namespace
}  // namespace ffkit
