#include "checkpoint/work_dir.h"
#include "test_prelude.h"
#include "training.h"

namespace ffkit {
namespace {

using testing::expect_same_tensors;
using testing::kQuiet;
using testing::read_metrics;
using testing::TrainerTest;

TEST_F(TrainerTest, LearnsToTellColoursApart) {
  TrainOptions o = options();
  o.epochs = 6;
  const TrainSummary summary = train(o, kQuiet);
  EXPECT_EQ(summary.last.count, 20);
  EXPECT_GT(summary.best, 0.8);
  EXPECT_EQ(summary.epochs_done, 6);
  EXPECT_GT(summary.units_per_second, 0);
  EXPECT_TRUE(summary.checkpoint.empty());
}

TEST_F(TrainerTest, EndsWithTheSameBitsWhenResumed) {
  TrainOptions straight = options("straight");
  straight.compute_threads = 2;
  train(straight, kQuiet);
  const fs::path first = temp_ / "straight/epoch-0001.safetensors";
  TrainOptions o = read_checkpoint_options(first);
  EXPECT_EQ(o.work_dir, temp_ / "straight");
  o.work_dir = temp_ / "resumed";
  const TrainSummary summary = resume_training(o, first, kQuiet);
  EXPECT_EQ(summary.epochs_done, 1);
  expect_same_tensors(temp_ / "straight/epoch-0002.safetensors",
                      temp_ / "resumed/epoch-0002.safetensors");
}

TEST_F(TrainerTest, DependsOnTheSeedAlone) {
  TrainOptions o = options("a");
  o.epochs = 1;
  train(o, kQuiet);
  o.work_dir = temp_ / "b";
  o.num_threads = 3;
  train(o, kQuiet);
  expect_same_tensors(temp_ / "a/epoch-0001.safetensors", temp_ / "b/epoch-0001.safetensors");
  o.work_dir = temp_ / "c";
  o.seed = 1;
  train(o, kQuiet);
  const auto weight = [&](const char* run) {
    return read_safetensors(temp_ / run / "epoch-0001.safetensors").tensors[0].tensor;
  };
  EXPECT_FALSE(weight("a").equal(weight("c")));
}

TEST_F(TrainerTest, EvaluatesACheckpointAsTrainingDid) {
  const TrainSummary summary = train(options("run"), kQuiet);
  const EvalResult result = evaluate(options(), temp_ / "run", kQuiet);
  EXPECT_EQ(result.count, summary.last.count);
  EXPECT_EQ(result.value("top1"), summary.last.value("top1"));
  EXPECT_EQ(result.value("top5"), summary.last.value("top5"));
  EXPECT_EQ(result.value("loss"), summary.last.value("loss"));
}

TEST_F(TrainerTest, GivesTheSameResultInBothMemoryFormats) {
  TrainOptions o = options("run");
  o.epochs = 1;
  const TrainSummary summary = train(o, kQuiet);
  classification(o).channels_last = false;
  const EvalResult result = evaluate(o, temp_ / "run", kQuiet);
  EXPECT_NEAR(result.value("loss"), summary.last.value("loss"), 1e-4);
}

TEST_F(TrainerTest, EvaluatesEachPictureOnItsOwn) {
  train(options("run"), kQuiet);
  TrainOptions o = options();
  const EvalResult eights = evaluate(o, temp_ / "run", kQuiet);
  o.batch_size = 3;
  const EvalResult threes = evaluate(o, temp_ / "run", kQuiet);
  EXPECT_EQ(threes.count, 20);
  EXPECT_NEAR(threes.value("loss"), eights.value("loss"), 1e-5);
}

TEST_F(TrainerTest, StopsAtTheLimitOfBatches) {
  TrainOptions o = options("run");
  o.limit_batches = 2;
  const TrainSummary summary = train(o, kQuiet);
  EXPECT_EQ(summary.last.count, 16);
  EXPECT_EQ(read_metrics(o.work_dir)[0].at("step"), 2);
  // Not after it, unless it is given.
  EXPECT_EQ(evaluate(read_evaluation_options(o.work_dir), o.work_dir, kQuiet).count, 20);
  EXPECT_EQ(evaluate(o, o.work_dir, kQuiet, {}, std::vector<std::string>{}).count, 20);
  EXPECT_EQ(evaluate(o, o.work_dir, kQuiet, {}, std::vector<std::string>{"limit-batches"}).count,
            16);
}

TEST_F(TrainerTest, KeepsTheNewestAndTheBestCheckpoint) {
  TrainOptions o = options("run");
  o.epochs = 4;
  o.limit_batches = 1;
  o.keep_checkpoints = 1;
  const TrainSummary summary = train(o, kQuiet);
  std::vector<int64_t> epochs;
  for (const CheckpointFile& file : list_checkpoints(o.work_dir)) epochs.push_back(file.epoch);
  std::vector<int64_t> expected = {summary.best_epoch};
  if (summary.best_epoch != 4) expected.push_back(4);
  EXPECT_EQ(epochs, expected);
}

TEST_F(TrainerTest, StopsWhenTheLossIsNoNumber) {
  TrainOptions o = options("run");
  o.lr = 1e30;
  EXPECT_ERROR(train(o, kQuiet), invalid_argument);
  EXPECT_TRUE(list_checkpoints(o.work_dir).empty());
}

TEST_F(TrainerTest, RefusesAFolderOfAnotherRun) {
  TrainOptions o = options("run");
  o.epochs = 1;
  train(o, kQuiet);
  EXPECT_ERROR(train(o, kQuiet), invalid_argument);
}

TEST_F(TrainerTest, RefusesAFolderThatAnotherTrainingWritesTo) {
  TrainOptions o = options("run");
  o.limit_batches = 1;
  {
    const WorkDirLock other(o.work_dir);
    EXPECT_ERROR(train(o, kQuiet), invalid_argument);
    EXPECT_ERROR(train_or_resume(o, kQuiet), invalid_argument);
  }
  train(o, kQuiet);
  const WorkDirLock other(o.work_dir);
  EXPECT_ERROR(resume_training(o, o.work_dir, kQuiet), invalid_argument);
  evaluate(o, o.work_dir, kQuiet);
}

TEST_F(TrainerTest, SaysWhichSplitIsMissing) {
  fs::remove_all(data() / "val");
  EXPECT_ERROR(train(options("run"), kQuiet), not_found, .subject = split);
  EXPECT_FALSE(fs::exists(temp_ / "run"));
  testing::write_synthetic_split(data(), "val", 4, {}, 1);
  fs::remove_all(data() / "train");
  EXPECT_ERROR(train(options(), kQuiet), not_found, .subject = split);
}

TEST_F(TrainerTest, RefusesASplitSmallerThanABatch) {
  TrainOptions o = options();
  o.batch_size = 49;
  EXPECT_ERROR(train(o, kQuiet), invalid_argument);
}

TEST_F(TrainerTest, RefusesSplitsOfDifferentClasses) {
  fs::remove_all(data() / "val");
  testing::write_synthetic_split(data(), "val", 4, {.classes = {"blue", "pink"}}, 1);
  EXPECT_ERROR(train(options(), kQuiet), invalid_argument);
}

TEST_F(TrainerTest, SaysWhyACheckpointDoesNotFit) {
  TrainOptions o = options("run");
  o.limit_batches = 1;
  o.epochs = 1;
  train(o, kQuiet);
  const fs::path file = temp_ / "run/epoch-0001.safetensors";
  const auto changed = [&](const std::function<void(TrainOptions&)>& change) {
    TrainOptions c = read_checkpoint_options(file);
    c.epochs = 2;
    change(c);
    return c;
  };
  EXPECT_ERROR(resume_training(read_checkpoint_options(file), file, kQuiet), invalid_argument);
  EXPECT_ERROR(
      resume_training(changed([](auto& c) { classification(c).arch = testing::kTestResNetDeeper; }),
                      file, kQuiet),
      invalid_argument);
  EXPECT_ERROR(resume_training(changed([](auto& c) { c.seed = 9; }), file, kQuiet),
               invalid_argument);
  testing::write_synthetic_dataset(temp_ / "other", {.seed = 77});
  EXPECT_ERROR(resume_training(changed([&](auto& c) { c.data = temp_ / "other"; }), file, kQuiet),
               invalid_argument);
  testing::write_synthetic_dataset(temp_ / "two", {.classes = {"blue", "green"}});
  EXPECT_ERROR(resume_training(changed([&](auto& c) { c.data = temp_ / "two"; }), file, kQuiet),
               invalid_argument);
  EXPECT_ERROR(evaluate(changed([&](auto& c) { c.data = temp_ / "two"; }), file, kQuiet),
               invalid_argument);
  EXPECT_ERROR(evaluate(options(), temp_ / "nothing.safetensors", kQuiet), not_found);
  fs::resize_file(file, fs::file_size(file) / 2);
  // The sentence has the size of the file, which depends on the folder that it names.
  EXPECT_ERROR_CODE(evaluate(options(), file, kQuiet), corrupt);
}

}  // namespace
}  // namespace ffkit
