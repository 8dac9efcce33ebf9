#include "run_checkpoints.h"

#include "checkpoint/work_dir.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

SafeTensors contents() {
  return {.tensors = {{"a", at::ones({1000})}}, .metadata = {{"ffkit_checkpoint", "1"}}};
}

TEST(CheckpointWriter, WritesOneAfterTheOther) {
  const testing::TempDir temp;
  std::atomic<int> num_done{0};
  CheckpointWriter writer;
  for (int i = 0; i < 5; ++i) {
    writer.write([&num_done, path = temp / std::to_string(i)] {
      write_safetensors(path, contents());
      ++num_done;
    });
  }
  writer.wait();
  EXPECT_EQ(num_done, 5);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(
        read_safetensors(temp / std::to_string(i)).tensors[0].tensor.equal(at::ones({1000})));
}

TEST(CheckpointWriter, ThrowsWhatTheOneBeforeFailedWith) {
  const testing::TempDir temp;
  CheckpointWriter writer;
  const auto write = [&](const char* name) {
    writer.write([path = temp / name] { write_safetensors(path, contents()); });
  };
  write("none/a");
  EXPECT_ERROR(write("b"), io);
  writer.wait();
  EXPECT_FALSE(fs::exists(temp / "b"));
}

TEST(WorkDir, SortsCheckpointsWithinEpochs) {
  const testing::TempDir temp;
  const WorkDir dir = WorkDir::create(temp / "run");
  for (const auto& [epoch, samples] :
       {std::pair{2, 0}, std::pair{1, 96}, std::pair{10, 0}, std::pair{1, 0}, std::pair{1, 1000}}) {
    write_safetensors(dir.checkpoint_path(epoch, samples), contents());
  }
  std::vector<std::pair<int64_t, int64_t>> order;
  for (const CheckpointFile& f : list_checkpoints(dir.path()))
    order.emplace_back(f.epoch, f.samples);
  EXPECT_EQ(order, (std::vector<std::pair<int64_t, int64_t>>{
                       {1, 0}, {1, 96}, {1, 1000}, {2, 0}, {10, 0}}));
  dir.prune(2, /*best_epoch=*/1);
  EXPECT_EQ(list_checkpoints(dir.path()).size(), 3U);
  EXPECT_TRUE(fs::exists(dir.checkpoint_path(1)));
}

TEST(WorkDir, PassesOverDamagedCheckpoints) {
  const testing::TempDir temp;
  const WorkDir dir = WorkDir::create(temp / "run");
  std::vector<std::string> said;
  const auto say = [&](const std::string& sentence) { said.push_back(sentence); };
  EXPECT_TRUE(newest_whole_checkpoint(dir.path(), say).path.empty());
  for (int64_t epoch = 1; epoch <= 3; ++epoch)
    write_safetensors(dir.checkpoint_path(epoch), contents());
  for (int64_t epoch = 2; epoch <= 3; ++epoch) {
    fs::resize_file(dir.checkpoint_path(epoch), fs::file_size(dir.checkpoint_path(epoch)) - 1);
  }
  const ChosenCheckpoint chosen = newest_whole_checkpoint(dir.path(), say);
  EXPECT_EQ(chosen.path, dir.checkpoint_path(1));
  chosen.put_damaged_aside(say);
  EXPECT_EQ(said.size(), 2U);
  EXPECT_TRUE(fs::exists(dir.path() / "epoch-0003.safetensors.damaged"));
  EXPECT_EQ(list_checkpoints(dir.path()).size(), 1U);
}

TEST(GoodCheckpoint, IsOneWhoseWeightsGaveAFiniteLoss) {
  const testing::TempDir folder;
  const fs::path first = folder / "a", second = folder / "b";
  testing::write_file(first, "1");
  testing::write_file(second, "2");
  GoodCheckpoint good;
  good.written(first, 10);
  EXPECT_TRUE(good.path().empty());
  good.proven(9);  // the step before
  EXPECT_TRUE(good.path().empty());
  good.proven(10);
  EXPECT_EQ(good.path(), first);
  good.written(second, 20);
  EXPECT_EQ(good.path(), first);
  EXPECT_EQ(good.put_aside(), ". The checkpoint " + second.string() +
                                  " is renamed to *.not-finite, because its weights give no "
                                  "finite loss. The last good checkpoint is " +
                                  first.string());
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(fs::exists(folder / "b.not-finite"));
  EXPECT_TRUE(fs::exists(first));
}

TEST(GoodCheckpoint, IsAtOnceOneOfWeightsThatWereValidated) {
  GoodCheckpoint good;
  good.proven(10);
  good.written("a", 10);
  EXPECT_EQ(good.path(), "a");
  EXPECT_EQ(good.put_aside(), ". The last good checkpoint is a");
}

// The data, too, may be why the first step fails: what another run wrote is not renamed.
TEST(GoodCheckpoint, DoesNotRenameWhatTheRunGoesOnFrom) {
  const testing::TempDir folder;
  const fs::path first = folder / "a";
  testing::write_file(first, "1");
  GoodCheckpoint good;
  EXPECT_EQ(good.put_aside(), "");
  good.resumed(first, 10);
  EXPECT_NE(good.put_aside().find("This was the first step after the checkpoint " + first.string()),
            std::string::npos);
  EXPECT_TRUE(fs::exists(first));
  good.proven(10);
  EXPECT_EQ(good.put_aside(), ". The last good checkpoint is " + first.string());
}

}  // namespace

}  // namespace ffkit
