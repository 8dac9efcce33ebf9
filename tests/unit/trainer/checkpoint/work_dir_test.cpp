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

void write_checkpoint(const fs::path& path, int64_t best_epoch = 0) {
  CheckpointInfo info;
  info.options.data = "/data/set";
  info.facts = {{"classes", "[]"}};
  info.best_epoch = best_epoch;
  write_safetensors(path, snapshot(info, {}));
}

TEST(WorkDir, ListsCheckpointsByEpochAndIgnoresOtherFiles) {
  const testing::TempDir temp;
  for (const char* name :
       {"epoch-0010.safetensors", "epoch-0009.safetensors", "epoch-12345.safetensors",
        "epoch-0011.safetensors.tmp", "epoch-x.safetensors", "notes.txt"}) {
    touch(temp / name);
  }
  EXPECT_EQ(epochs_in(temp.path()), (std::vector<int64_t>{9, 10, 12345}));
  EXPECT_ERROR(resolve_checkpoint(temp.path()), corrupt, .path = temp / "epoch-12345.safetensors");
  write_checkpoint(temp / "epoch-0010.safetensors");
  EXPECT_EQ(resolve_checkpoint(temp.path()).filename(), "epoch-0010.safetensors");
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
  write_checkpoint(dir.checkpoint_path(1), 1);
  write_checkpoint(dir.checkpoint_path(2), 2);
  write_checkpoint(dir.checkpoint_path(2, 64), 2);  // within an epoch
  write_checkpoint(dir.checkpoint_path(3), 2);
  EXPECT_EQ(resolve_checkpoint(temp / "last"), dir.checkpoint_path(3));
  EXPECT_EQ(resolve_checkpoint(temp / "best"), dir.checkpoint_path(2));
  EXPECT_EQ(resolve_checkpoint(temp / "other"), temp / "other");
  fs::remove(dir.checkpoint_path(2));
  EXPECT_ERROR(resolve_checkpoint(temp / "best"), not_found);  // not kept
  write_checkpoint(dir.checkpoint_path(4), 0);
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

TEST(WorkDir, RemovesWhatAKilledWriterLeft) {
  const testing::TempDir temp;
  const WorkDir dir = WorkDir::create(temp.path());
  write_checkpoint(dir.checkpoint_path(1));
  touch(temp / "epoch-0002-samples-000000020.safetensors.tmp");
  touch(temp / "epoch-0002.parts.tmp");
  touch(temp / "notes.tmp");
  WorkDir::reopen(temp.path(), dir.checkpoint_path(1));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(temp.path()))
    names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"epoch-0001.safetensors", "notes.tmp"}));
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

// What becomes of the newest of three checkpoints, of which the second is the best.
class DamagedRun
    : public ::testing::TestWithParam<std::pair<const char*, void (*)(const fs::path&)>> {
 protected:
  DamagedRun() {
    for (int64_t epoch = 1; epoch <= 3; ++epoch)
      write_checkpoint(path(epoch), epoch < 3 ? epoch : 2);
  }
  fs::path path(int64_t epoch) const { return dir_.checkpoint_path(epoch); }

  testing::TempDir temp_;
  const WorkDir dir_ = WorkDir::create(temp_.path());
  std::vector<std::string> said_;
  const Say say_ = [this](const std::string& sentence) { said_.push_back(sentence); };
};

INSTANTIATE_TEST_SUITE_P(
    Ways, DamagedRun,
    ::testing::Values(std::pair(
                          "Empty", +[](const fs::path& p) { fs::resize_file(p, 0); }),
                      std::pair(
                          "Cut",
                          +[](const fs::path& p) { fs::resize_file(p, fs::file_size(p) - 1); }),
                      std::pair(
                          "CutToAByte", +[](const fs::path& p) { fs::resize_file(p, 1); }),
                      std::pair(
                          "Zeros",
                          +[](const fs::path& p) {
                            const auto size = fs::file_size(p);
                            fs::resize_file(p, 0);
                            fs::resize_file(p, size);
                          }),
                      std::pair(
                          "OtherBytes",
                          +[](const fs::path& p) {
                            testing::write_file(p, "\x80\x02}q" + std::string(200, '~'));
                          }),
                      std::pair(
                          "PartsWithoutAManifest",
                          +[](const fs::path& p) {
                            fs::remove(p);
                            fs::create_directory(fs::path(p).replace_extension(".parts"));
                          })),
    [](const auto& test) { return test.param.first; });

TEST_P(DamagedRun, GoesBackOneAndKeepsTheDamagedOne) {
  GetParam().second(path(3));
  const fs::path damaged = list_checkpoints(temp_.path()).back().path;
  EXPECT_EQ(resolve_checkpoint(temp_.path()), path(2));
  for (const fs::path& asked : {temp_.path(), temp_ / "last"}) {
    said_.clear();
    const ChosenCheckpoint chosen = choose_checkpoint(asked, say_);
    EXPECT_EQ(chosen.path, path(2));
    ASSERT_EQ(said_.size(), 1U);
    EXPECT_THAT(said_[0], HasSubstr(damaged.filename().string()));
  }
  EXPECT_TRUE(fs::exists(damaged)) << "nothing is changed yet";
  EXPECT_EQ(choose_checkpoint(temp_ / "best", say_).path, path(2));
  // The file itself was asked for.
  EXPECT_ERROR(check_checkpoint(damaged), corrupt);
  newest_whole_checkpoint(temp_.path(), say_).put_damaged_aside(say_);
  EXPECT_EQ(epochs_in(temp_.path()), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(fs::exists(damaged.string() + ".damaged"));
}

TEST_P(DamagedRun, SaysThatNoneIsWhole) {
  for (int64_t epoch = 1; epoch <= 3; ++epoch) GetParam().second(path(epoch));
  EXPECT_ERROR(choose_checkpoint(temp_.path(), say_), corrupt, .path = temp_.path());
  EXPECT_EQ(said_.size(), 3U);
  EXPECT_TRUE(newest_whole_checkpoint(temp_.path(), say_).path.empty());
}

TEST_F(DamagedRun, IsNotOneOfANewerVersion) {
  SafeTensors contents = read_safetensors(path(3));
  contents.metadata.at("ffkit_checkpoint") = "2";
  write_safetensors(path(3), contents);
  EXPECT_EQ(resolve_checkpoint(temp_.path()), path(3));
  EXPECT_ERROR(resolve_checkpoint(temp_ / "best"), unsupported, .path = path(3));
  EXPECT_EQ(choose_checkpoint(temp_.path(), say_).path, path(3)) << "what reads it says so";
  EXPECT_TRUE(said_.empty());
}

TEST(WorkDir, MayHaveTheMetricsOfARunThatGoesOn) {
  const testing::TempDir temp;
  touch(temp / "metrics.jsonl");
  EXPECT_ERROR(WorkDir::create(temp.path()), invalid_argument);
  WorkDir::create(temp.path(), /*may_have_metrics=*/true);
  EXPECT_TRUE(fs::exists(temp / "metrics.jsonl"));
}

}  // namespace
}  // namespace ffkit
