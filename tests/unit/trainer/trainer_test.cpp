#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include <ffkit/trainer/trainer.h>

#include "expect_error.h"
#include "options_file.h"
#include "safetensors.h"
#include "synthetic_dataset.h"
#include "temp_dir.h"
#include "work_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

const ProgressOutput kQuiet{.lines = nullptr, .live = nullptr};

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

std::string read_text(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

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

using Change = std::pair<std::string, std::function<void(TrainOptions&)>>;

class TrainerOptionsTest : public TrainerTest {
 protected:
  // The first tensor after six steps in two epochs.
  at::Tensor train_with(const std::string& name, const std::function<void(TrainOptions&)>& change) {
    TrainOptions o = options(name);
    o.limit_batches = 3;
    o.epochs = 2;
    o.warmup_epochs = 0;
    change(o);
    train(o, kQuiet);
    return read_safetensors(temp_ / name / "epoch-0002.safetensors").tensors[0].tensor;
  }

  void expect_each_counts(const std::vector<Change>& changes) {
    const at::Tensor base = train_with("base", [](auto&) {});
    EXPECT_TRUE(base.equal(train_with("again", [](auto&) {})));
    for (const auto& [name, change] : changes) {
      EXPECT_FALSE(base.equal(train_with(name, change))) << name;
    }
  }
};

TEST_F(TrainerOptionsTest, HeedsEveryOptionOfTheOptimisation) {
  expect_each_counts({
      {"momentum", [](auto& o) { o.momentum = 0.5; }},
      {"nesterov", [](auto& o) { o.nesterov = true; }},
      {"weight_decay", [](auto& o) { o.weight_decay = 0.01; }},
      {"norm_decay", [](auto& o) { o.norm_decay = false; }},
      {"optimizer adamw", [](auto& o) { o.optimizer = OptimizerKind::adamw; }},
      {"optimizer lars", [](auto& o) { o.optimizer = OptimizerKind::lars; }},
      {"clip_grad_norm", [](auto& o) { o.clip_grad_norm = 0.1; }},
      {"label_smoothing", [](auto& o) { o.label_smoothing = 0.1; }},
      {"zero_init_residual", [](auto& o) { o.zero_init_residual = true; }},
  });
}

TEST_F(TrainerOptionsTest, HeedsEveryOptionOfTheLearningRate) {
  expect_each_counts({
      {"lr", [](auto& o) { o.lr = 0.03; }},
      {"lr_schedule", [](auto& o) { o.lr_schedule = LrSchedule::step; }},
      {"lr_min", [](auto& o) { o.lr_min = 0.01; }},
      {"warmup_epochs", [](auto& o) { o.warmup_epochs = 0.5; }},
  });
}

// What the loader makes of the others is in data_source_test.cpp.
TEST_F(TrainerOptionsTest, HeedsTheOptionsOfPictures) {
  expect_each_counts({
      {"crop_scale", [](auto& o) { o.crop_scale_min = 0.9; }},
      {"image_size", [](auto& o) { o.image_size = 40; }},
      {"batch_size", [](auto& o) { o.batch_size = 6; }},
      {"mixup_alpha", [](auto& o) { o.mixup_alpha = 1; }},
      {"progressive_size",
       [](auto& o) {
         o.progressive_size = 16;
         o.progressive_to = 1;
       }},
  });
}

std::vector<nlohmann::json> read_metrics(const fs::path& work_dir) {
  std::ifstream in(work_dir / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// "train 4" and so on: what was logged after which step.
std::vector<std::string> kinds_and_steps(const fs::path& work_dir) {
  std::vector<std::string> out;
  for (const auto& json : read_metrics(work_dir)) {
    out.push_back(json.at("kind").get<std::string>() + " " + json.at("step").dump());
  }
  return out;
}

TEST_F(TrainerTest, LogsEveryFewStepsAndEachValidation) {
  TrainOptions o = options("run");
  o.log_every = 4;
  const TrainSummary summary = train(o, kQuiet);
  EXPECT_EQ(kinds_and_steps(o.work_dir),
            (std::vector<std::string>{"train 4", "train 6", "validation 6", "train 8", "train 12",
                                      "validation 12"}));
  const std::vector<nlohmann::json> lines = read_metrics(o.work_dir);
  EXPECT_EQ(lines[1].at("epoch"), 1);
  EXPECT_GT(lines[1].at("loss"), 0.0);
  EXPECT_GT(lines[1].at("images_per_second"), 0.0);
  EXPECT_EQ(lines[5].at("epoch"), 2);
  EXPECT_EQ(lines[5].at("images"), 20);
  EXPECT_EQ(lines[5].at("top1"), summary.last.top1);
  EXPECT_EQ(lines[5].at("loss"), summary.last.loss);
}

TEST_F(TrainerTest, ContinuesItsLogWithoutRepeatedSteps) {
  TrainOptions o = options("run");
  o.log_every = 4;
  train(o, kQuiet);
  const std::vector<std::string> undisturbed = kinds_and_steps(o.work_dir);
  const std::string first = read_metrics(o.work_dir)[0].dump();
  fs::remove(temp_ /
             "run/epoch-0002.safetensors");  // as if killed during the second epoch's validation
  resume_training(o, temp_ / "run", kQuiet);
  EXPECT_EQ(kinds_and_steps(o.work_dir), undisturbed);
  EXPECT_EQ(read_metrics(o.work_dir)[0].dump(), first);
}

TEST_F(TrainerTest, WritesItsOptionsIntoTheWorkFolder) {
  TrainOptions o = options("run");
  o.limit_batches = 1;
  train(o, kQuiet);
  EXPECT_EQ(read_text(temp_ / "run/config.toml"), options_to_toml(o));
}

TEST_F(TrainerTest, ValidatesTheAverageOfTheWeights) {
  TrainOptions o = options("average");
  o.ema_decay = 0.5;
  o.warmup_epochs = 0;
  const TrainSummary averaged = train(o, kQuiet);
  o.ema_decay = 0;
  o.work_dir = temp_ / "plain";
  const TrainSummary plain = train(o, kQuiet);
  EXPECT_NE(averaged.last.loss, plain.last.loss);
  // The training itself is the same.
  const SafeTensors a = read_safetensors(temp_ / "average/epoch-0002.safetensors");
  const SafeTensors b = read_safetensors(temp_ / "plain/epoch-0002.safetensors");
  EXPECT_TRUE(a.tensors[0].tensor.equal(b.tensors[0].tensor));
  EXPECT_EQ(a.tensors.size(), b.tensors.size() + 122);  // all of ResNet-18's once more
  // Evaluation takes the average too.
  const EvalResult result =
      evaluate(read_checkpoint_options(temp_ / "average"), temp_ / "average", kQuiet);
  EXPECT_EQ(result.loss, averaged.last.loss);
}

// Every recipe that keeps state of its own across epochs.
TEST_F(TrainerTest, EndsWithTheSameBitsWhenResumedWhateverTheRecipe) {
  const std::vector<Change> recipes = {
      {"adamw", [](auto& o) { o.optimizer = OptimizerKind::adamw; }},
      {"lars and average",
       [](auto& o) {
         o.optimizer = OptimizerKind::lars;
         o.ema_decay = 0.9;
         o.ema_steps = 4;
         o.warmup_epochs = 0.5;
       }},
      {"mixing and progressive resizing",
       [](auto& o) {
         o.mixup_alpha = 0.2;
         o.cutmix_alpha = 1;
         o.auto_augment = AutoAugment::trivialaugment;
         o.random_erasing = 0.5;
         o.image_size = 64;
         o.progressive_size = 32;
         o.progressive_from = 0;
         o.progressive_to = 1;
       }},
  };
  for (const auto& [name, change] : recipes) {
    TrainOptions o = options("straight " + name);
    o.limit_batches = 3;
    change(o);
    train(o, kQuiet);
    const fs::path first = o.work_dir / "epoch-0001.safetensors";
    TrainOptions resumed = read_checkpoint_options(first);
    resumed.work_dir = temp_ / ("resumed " + name);
    resume_training(resumed, first, kQuiet);
    SCOPED_TRACE(name);
    expect_same_tensors(o.work_dir / "epoch-0002.safetensors",
                        resumed.work_dir / "epoch-0002.safetensors");
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

TEST_F(TrainerTest, StopsAtTheLimitOfBatches) {
  TrainOptions o = options("run");
  o.limit_batches = 2;
  const TrainSummary summary = train(o, kQuiet);
  EXPECT_EQ(summary.last.num_images, 16);
  EXPECT_EQ(read_metrics(o.work_dir)[0].at("step"), 2);
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
  EXPECT_ERROR(train(o, kQuiet), invalid_argument, "48 records, fewer than one step of 49");
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
