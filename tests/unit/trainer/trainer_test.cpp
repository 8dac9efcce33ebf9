#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include <ffkit/trainer/trainer.h>

#include "expect_error.h"
#include "safetensors.h"
#include "synthetic_dataset.h"
#include "temp_dir.h"
#include "work_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr ProgressOutput kQuiet{.lines = nullptr, .live = nullptr};

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() { testing::write_synthetic_dataset(data()); }

  fs::path data() const { return temp_ / "data"; }

  TrainOptions options(const std::string& work_dir = "") const {
    TrainOptions o;
    o.data = data();
    if (!work_dir.empty()) o.work_dir = temp_ / work_dir;
    o.arch = "resnet18";
    o.image_size = 32;
    o.crop_scale_min = 0.35;
    o.eval_resize = 32;
    o.epochs = 2;
    o.batch_size = 8;
    o.lr = 0.02;
    o.warmup_epochs = 1;
    o.keep_checkpoints = 0;
    o.compute_threads = 1;  // several would only wait for each other where tests run in parallel
    return o;
  }

  testing::TempDir temp_;
};

void expect_same_tensors(const fs::path& a, const fs::path& b) {
  const SafeTensors x = read_safetensors(a);
  const SafeTensors y = read_safetensors(b);
  ASSERT_EQ(x.tensors.size(), y.tensors.size());
  for (size_t i = 0; i < x.tensors.size(); ++i) {
    EXPECT_EQ(x.tensors[i].name, y.tensors[i].name);
    EXPECT_TRUE(x.tensors[i].tensor.equal(y.tensors[i].tensor)) << x.tensors[i].name;
  }
  EXPECT_EQ(x.metadata.at("progress"), y.metadata.at("progress"));
  EXPECT_EQ(x.metadata.at("loader"), y.metadata.at("loader"));
}

TEST_F(TrainerTest, LearnsToTellColoursApart) {
  TrainOptions o = options();
  o.epochs = 6;
  const TrainSummary summary = train(o, kQuiet);
  EXPECT_EQ(summary.last.num_images, 20);
  EXPECT_GT(summary.best_top1, 0.8);
  EXPECT_EQ(summary.epochs_done, 6);
  EXPECT_GT(summary.images_per_second, 0);
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
  o.threads = 3;
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
  EXPECT_EQ(result.num_images, summary.last.num_images);
  EXPECT_EQ(result.top1, summary.last.top1);
  EXPECT_EQ(result.top5, summary.last.top5);
  EXPECT_EQ(result.loss, summary.last.loss);
}

TEST_F(TrainerTest, GivesTheSameResultInBothMemoryFormats) {
  TrainOptions o = options("run");
  o.epochs = 1;
  const TrainSummary summary = train(o, kQuiet);
  o.channels_last = false;
  const EvalResult result = evaluate(o, temp_ / "run", kQuiet);
  EXPECT_NEAR(result.loss, summary.last.loss, 1e-4);
}

TEST_F(TrainerTest, EvaluatesEachPictureOnItsOwn) {
  train(options("run"), kQuiet);
  TrainOptions o = options();
  const EvalResult eights = evaluate(o, temp_ / "run", kQuiet);
  o.batch_size = 3;
  const EvalResult threes = evaluate(o, temp_ / "run", kQuiet);
  EXPECT_EQ(threes.num_images, 20);
  EXPECT_NEAR(threes.loss, eights.loss, 1e-5);
}

TEST_F(TrainerTest, HeedsEveryOptionOfTheOptimisation) {
  const auto train_with = [&](const std::string& name,
                              const std::function<void(TrainOptions&)>& change) {
    TrainOptions o = options(name);
    o.limit_batches = 3;
    o.epochs = 2;
    o.warmup_epochs = 0;
    change(o);
    train(o, kQuiet);
    return read_safetensors(temp_ / name / "epoch-0002.safetensors").tensors[0].tensor;
  };
  const at::Tensor base = train_with("base", [](auto&) {});
  EXPECT_TRUE(base.equal(train_with("again", [](auto&) {})));
  const std::vector<std::pair<std::string, std::function<void(TrainOptions&)>>> changes = {
      {"lr", [](auto& o) { o.lr = 0.03; }},
      {"lr_schedule", [](auto& o) { o.lr_schedule = LrSchedule::step; }},
      {"warmup_epochs", [](auto& o) { o.warmup_epochs = 1; }},
      {"momentum", [](auto& o) { o.momentum = 0.5; }},
      {"nesterov", [](auto& o) { o.nesterov = true; }},
      {"weight_decay", [](auto& o) { o.weight_decay = 0.01; }},
      {"label_smoothing", [](auto& o) { o.label_smoothing = 0.1; }},
      {"crop_scale", [](auto& o) { o.crop_scale_min = 0.9; }},
      {"image_size", [](auto& o) { o.image_size = 40; }},
      {"batch_size", [](auto& o) { o.batch_size = 6; }},
  };
  for (const auto& [name, change] : changes) {
    EXPECT_FALSE(base.equal(train_with(name, change))) << name;
  }
}

TEST_F(TrainerTest, StartsFromPretrainedWeights) {
  TrainOptions o = options("first");
  o.epochs = 1;
  train(o, kQuiet);
  export_weights(temp_ / "first", temp_ / "weights.pth");
  EXPECT_TRUE(is_weights_file(temp_ / "weights.pth"));
  EXPECT_FALSE(is_weights_file(temp_ / "first"));
  EXPECT_FALSE(is_weights_file(temp_ / "first/epoch-0001.safetensors"));
  // So low a rate that one epoch more leaves the weights where they were.
  o.lr = 1e-12;
  const auto moved = [&](const char* run) {
    const SafeTensors x = read_safetensors(temp_ / "first/epoch-0001.safetensors");
    const SafeTensors y = read_safetensors(temp_ / run / "epoch-0001.safetensors");
    return x.tensors[0].tensor.sub(y.tensors[0].tensor).abs().max().item<double>();
  };
  o.work_dir = temp_ / "second";
  o.pretrained = temp_ / "weights.pth";
  train(o, kQuiet);
  EXPECT_LT(moved("second"), 1e-9);
  o.work_dir = temp_ / "drawn";
  o.pretrained = "";
  o.seed = 7;
  train(o, kQuiet);
  EXPECT_GT(moved("drawn"), 1e-3);
  // The weights are in the checkpoint: going on does not need their file.
  fs::remove(temp_ / "weights.pth");
  TrainOptions more = read_checkpoint_options(temp_ / "second");
  more.epochs = 2;
  resume_training(more, temp_ / "second", kQuiet);
  o.work_dir = temp_ / "third";
  o.pretrained = temp_ / "weights.pth";
  EXPECT_ERROR(train(o, kQuiet), not_found, "weights.pth");
  EXPECT_FALSE(fs::exists(temp_ / "third"));
}

TEST_F(TrainerTest, EvaluatesExportedWeightsAsTheirCheckpoint) {
  train(options("run"), kQuiet);
  const EvalResult expected = evaluate(options(), temp_ / "run", kQuiet);
  for (const char* name : {"weights.pth", "weights.safetensors"}) {
    export_weights(temp_ / "run", temp_ / name);
    const EvalResult result = evaluate(options(), temp_ / name, kQuiet);
    EXPECT_EQ(result.num_images, expected.num_images);
    EXPECT_EQ(result.loss, expected.loss);
    EXPECT_EQ(result.top1, expected.top1);
  }
  TrainOptions o = options();
  testing::write_synthetic_dataset(temp_ / "two", {.classes = {"blue", "green"}});
  o.data = temp_ / "two";
  EXPECT_ERROR(evaluate(o, temp_ / "weights.pth", kQuiet), invalid_argument,
               "weights.pth: its 3 classes are not the 2 of the data set");
  o = options();
  o.arch = "resnet34";
  EXPECT_ERROR(evaluate(o, temp_ / "weights.pth", kQuiet), invalid_argument,
               "has no tensor 'layer1.2.conv1.weight', which a resnet34 needs");
}

TEST_F(TrainerTest, LogsEachEpoch) {
  train(options("run"), kQuiet);
  std::ifstream in(temp_ / "run/log.jsonl");
  std::string line;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    ASSERT_TRUE(std::getline(in, line));
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.at("epoch"), epoch);
    EXPECT_EQ(json.at("steps"), epoch * 6);
    EXPECT_EQ(json.at("val_images"), 20);
    EXPECT_GT(json.at("train_loss"), 0.0);
  }
  EXPECT_FALSE(std::getline(in, line));
}

TEST_F(TrainerTest, StopsAtTheLimitOfBatches) {
  TrainOptions o = options("run");
  o.limit_batches = 2;
  const TrainSummary summary = train(o, kQuiet);
  EXPECT_EQ(summary.last.num_images, 16);
  std::ifstream in(temp_ / "run/log.jsonl");
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("steps"), 2);
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
  EXPECT_ERROR(train(o, kQuiet), invalid_argument, "the loss became");
  EXPECT_TRUE(list_checkpoints(o.work_dir).empty());
}

TEST_F(TrainerTest, RefusesAFolderOfAnotherRun) {
  TrainOptions o = options("run");
  o.epochs = 1;
  train(o, kQuiet);
  EXPECT_ERROR(train(o, kQuiet), invalid_argument, "holds another run");
}

TEST_F(TrainerTest, SaysWhichSplitIsMissing) {
  fs::remove_all(data() / "val");
  EXPECT_ERROR(train(options("run"), kQuiet), not_found, "val");
  EXPECT_FALSE(fs::exists(temp_ / "run"));
  testing::write_synthetic_split(data(), "val", 4, {}, 1);
  fs::remove_all(data() / "train");
  EXPECT_ERROR(train(options(), kQuiet), not_found, "train");
}

TEST_F(TrainerTest, RefusesASplitSmallerThanABatch) {
  TrainOptions o = options();
  o.batch_size = 49;
  EXPECT_ERROR(train(o, kQuiet), invalid_argument, "48 records, fewer than one batch of 49");
}

TEST_F(TrainerTest, RefusesSplitsOfDifferentClasses) {
  fs::remove_all(data() / "val");
  testing::write_synthetic_split(data(), "val", 4, {.classes = {"blue", "pink"}}, 1);
  EXPECT_ERROR(train(options(), kQuiet), invalid_argument, "its 2 classes are not the 3");
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
  EXPECT_ERROR(resume_training(read_checkpoint_options(file), file, kQuiet), invalid_argument,
               "has done 1 of 1 epochs");
  EXPECT_ERROR(resume_training(changed([](auto& c) { c.arch = "resnet34"; }), file, kQuiet),
               invalid_argument, "is of arch resnet18, but resnet34");
  EXPECT_ERROR(resume_training(changed([](auto& c) { c.seed = 9; }), file, kQuiet),
               invalid_argument, "has the seed 0, but 9");
  testing::write_synthetic_dataset(temp_ / "other", {.seed = 77});
  EXPECT_ERROR(resume_training(changed([&](auto& c) { c.data = temp_ / "other"; }), file, kQuiet),
               invalid_argument, "on other data");
  testing::write_synthetic_dataset(temp_ / "two", {.classes = {"blue", "green"}});
  EXPECT_ERROR(resume_training(changed([&](auto& c) { c.data = temp_ / "two"; }), file, kQuiet),
               invalid_argument, "its 3 classes are not the 2");
  EXPECT_ERROR(evaluate(changed([&](auto& c) { c.data = temp_ / "two"; }), file, kQuiet),
               invalid_argument, "its 2 classes are not the 3");
  EXPECT_ERROR(evaluate(options(), temp_ / "nothing.safetensors", kQuiet), not_found, "nothing");
  fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_ERROR(evaluate(options(), file, kQuiet), corrupt, "epoch-0001.safetensors");
}

}  // namespace
}  // namespace ffkit
