#include "checkpoint/work_dir.h"

#include "checkpoint/checkpoint.h"
#include "files/safetensors.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

void touch(const fs::path& path) {
  std::ofstream(path) << "x";
}

std::vector<int64_t> epochs_in(const fs::path& folder) {
  std::vector<int64_t> epochs;
  for (const CheckpointFile& file : list_checkpoints(folder)) epochs.push_back(file.epoch);
  return epochs;
}

TEST(WorkDir, ListsCheckpointsByEpochAndIgnoresOtherFiles) {
  const testing::TempDir temp;
  for (const char* name :
       {"epoch-0010.safetensors", "epoch-0009.safetensors", "epoch-12345.safetensors",
        "epoch-0011.safetensors.tmp", "epoch-x.safetensors", "notes.txt"}) {
    touch(temp / name);
  }
  EXPECT_EQ(epochs_in(temp.path()), (std::vector<int64_t>{9, 10, 12345}));
  EXPECT_EQ(resolve_checkpoint(temp.path()).filename(), "epoch-12345.safetensors");
  EXPECT_EQ(resolve_checkpoint(temp / "epoch-0009.safetensors").filename(),
            "epoch-0009.safetensors");
}

TEST(WorkDir, SaysWhenAFolderHasNoCheckpoint) {
  const testing::TempDir temp;
  EXPECT_ERROR(resolve_checkpoint(temp.path()), not_found);
  touch(temp / "pytorch_model.bin");
  EXPECT_EQ(resolve_checkpoint(temp.path()).filename(), "pytorch_model.bin");
  touch(temp / "model.safetensors");
  EXPECT_EQ(resolve_checkpoint(temp.path()).filename(), "model.safetensors");
}

TEST(WorkDir, FindsItsBestAndItsLastCheckpointByName) {
  const testing::TempDir temp;
  const WorkDir dir = WorkDir::create(temp.path());
  EXPECT_EQ(resolve_checkpoint(temp / "last"), temp / "last");  // to be said where it is read
  const auto write = [](const fs::path& path, int64_t best_epoch) {
    CheckpointInfo info;
    info.options.data = "/data/set";
    info.facts = {{"classes", "[]"}};
    info.best_epoch = best_epoch;
    write_safetensors(path, snapshot(info, {}));
  };
  write(dir.checkpoint_path(1), 1);
  write(dir.checkpoint_path(2), 2);
  write(dir.checkpoint_path(2, 64), 2);  // within an epoch
  write(dir.checkpoint_path(3), 2);
  EXPECT_EQ(resolve_checkpoint(temp / "last"), dir.checkpoint_path(3));
  EXPECT_EQ(resolve_checkpoint(temp / "best"), dir.checkpoint_path(2));
  EXPECT_EQ(resolve_checkpoint(temp / "other"), temp / "other");
  fs::remove(dir.checkpoint_path(2));
  EXPECT_ERROR(resolve_checkpoint(temp / "best"), not_found);  // not kept
  write(dir.checkpoint_path(4), 0);
  EXPECT_ERROR(resolve_checkpoint(temp / "best"), not_found);  // none was better than another
  touch(temp / "best");
  touch(temp / "last");
  EXPECT_EQ(resolve_checkpoint(temp / "best"), temp / "best");
  EXPECT_EQ(resolve_checkpoint(temp / "last"), temp / "last");
}

TEST(WorkDir, MakesItsFolder) {
  const testing::TempDir temp;
  const WorkDir dir = WorkDir::create(temp / "a/b");
  EXPECT_TRUE(fs::is_directory(temp / "a/b"));
  EXPECT_EQ(dir.checkpoint_path(7), temp / "a/b/epoch-0007.safetensors");
}

TEST(WorkDir, SaysWhyItsFolderCannotBeMade) {
  const testing::TempDir temp;
  touch(temp / "file");
  EXPECT_ERROR(WorkDir::create(temp / "file/run"), io);
}

TEST(WorkDir, RefusesTheFolderOfAnotherRun) {
  const testing::TempDir temp;
  WorkDir::create(temp.path());
  WorkDir::create(temp.path());  // empty: nothing to lose
  touch(temp / "metrics.jsonl");
  EXPECT_ERROR(WorkDir::create(temp.path()), invalid_argument);
  fs::remove(temp / "metrics.jsonl");
  touch(temp / "epoch-0001.safetensors");
  EXPECT_ERROR(WorkDir::create(temp.path()), invalid_argument);
}

TEST(WorkDir, GoesOnOnlyFromTheNewestCheckpoint) {
  const testing::TempDir temp;
  touch(temp / "epoch-0001.safetensors");
  touch(temp / "epoch-0002.safetensors");
  touch(temp / "metrics.jsonl");
  WorkDir::reopen(temp.path(), temp / "epoch-0002.safetensors");
  EXPECT_ERROR(WorkDir::reopen(temp.path(), temp / "epoch-0001.safetensors"), invalid_argument);
  const testing::TempDir other;
  WorkDir::reopen(other / "new", temp / "epoch-0001.safetensors");
  EXPECT_ERROR(WorkDir::reopen(temp.path(), other / "epoch-0009.safetensors"), invalid_argument);
}

TEST(WorkDir, KeepsTheNewestAndTheBestCheckpoints) {
  const testing::TempDir temp;
  const WorkDir dir = WorkDir::create(temp.path());
  for (int64_t epoch = 1; epoch <= 6; ++epoch) touch(dir.checkpoint_path(epoch));
  dir.prune(0, 1);
  EXPECT_EQ(epochs_in(temp.path()).size(), 6U);
  dir.prune(2, 3);
  EXPECT_EQ(epochs_in(temp.path()), (std::vector<int64_t>{3, 5, 6}));
  dir.prune(9, 6);
  EXPECT_EQ(epochs_in(temp.path()), (std::vector<int64_t>{3, 5, 6}));
  dir.prune(1, 5, dir.checkpoint_path(3));
  EXPECT_EQ(epochs_in(temp.path()), (std::vector<int64_t>{3, 5, 6}));
  dir.prune(1, 5);
  EXPECT_EQ(epochs_in(temp.path()), (std::vector<int64_t>{5, 6}));
}

TEST(WorkDir, ForgetsTheMetricsOfARunWithoutCheckpointsAlone) {
  const testing::TempDir temp;
  const WorkDir dir = WorkDir::create(temp.path());
  WorkDir::forget_metrics(temp.path());  // there are none
  touch(temp / "metrics.jsonl");
  WorkDir::forget_metrics(temp.path());
  EXPECT_FALSE(fs::exists(temp / "metrics.jsonl"));
  touch(temp / "metrics.jsonl");
  touch(dir.checkpoint_path(1));
  WorkDir::forget_metrics(temp.path());
  EXPECT_TRUE(fs::exists(temp / "metrics.jsonl"));
}

}  // namespace
}  // namespace ffkit
