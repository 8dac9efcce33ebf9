#include "run_options.h"
#include "tar_builder.h"
#include "test_prelude.h"
#include "training.h"

namespace ffkit {
namespace {

using testing::kinds_and_steps;
using testing::kQuiet;
using testing::read_metrics;

class TrainingLog : public testing::TrainerTest {};

TEST_F(TrainingLog, LogsEveryFewStepsAndEachValidation) {
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
  EXPECT_EQ(lines[5].at("top1"), summary.last.value("top1"));
  EXPECT_EQ(lines[5].at("loss"), summary.last.value("loss"));
}

// Epochs of three steps; the run of five ends within the second one, with a validation, and goes on
// from its checkpoints like any other.
TEST_F(TrainingLog, EndsAfterSoManySteps) {
  TrainOptions o = options("run");
  o.limit_batches = 3;
  o.log_every = 1;
  o.warmup_epochs = 0;
  o.warmup_steps = 2;
  o.steps = 5;
  const TrainSummary summary = train(o, kQuiet);
  EXPECT_EQ(summary.epochs_done, 2);
  EXPECT_EQ(kinds_and_steps(temp_ / "run"),
            (std::vector<std::string>{"train 1", "train 2", "train 3", "validation 3", "train 4",
                                      "train 5", "validation 5"}));
  o.work_dir = temp_ / "resumed";
  resume_training(o, temp_ / "run" / "epoch-0001.safetensors", kQuiet);
  testing::expect_same_tensors(temp_ / "run" / "epoch-0002.safetensors",
                               temp_ / "resumed" / "epoch-0002.safetensors");
  o.work_dir = temp_ / "third";
  EXPECT_ERROR(resume_training(o, temp_ / "run" / "epoch-0002.safetensors", kQuiet),
               invalid_argument);
  // Checkpoints keep what differs from the defaults.
  std::ifstream file(temp_ / "run" / "config.toml");
  const std::string config{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(config.find("steps = 5\n"), std::string::npos);
  EXPECT_NE(config.find("warmup-steps = 2\n"), std::string::npos);
  EXPECT_EQ(config.find("lr-step-steps"), std::string::npos);
}

TEST_F(TrainingLog, ContinuesItsLogWithoutRepeatedSteps) {
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

// The mean over the pictures of the epoch, whatever steps they were taken in.
TEST_F(TrainingLog, AveragesTheLossOfAnEpochWhoseBatchChanged) {
  TrainOptions o = options("first");
  o.epochs = 1;
  o.log_every = 1;
  o.checkpoint_minutes = 1e-9;
  train(o, kQuiet);
  const fs::path half = temp_ / "first/epoch-0000-samples-000000024.safetensors";
  TrainOptions changed = read_checkpoint_options(half);
  changed.work_dir = temp_ / "second";
  changed.batch_size = 4;
  EXPECT_ERROR(resume_training(changed, half, kQuiet), invalid_argument);
  resume_training(changed, half, kQuiet, {}, {.accept_batch_change = true});
  double sum = 0;
  const std::vector<nlohmann::json> before = read_metrics(temp_ / "first");
  for (size_t i = 0; i < 3; ++i) sum += 2 * before[i].at("loss").get<double>();
  const std::vector<nlohmann::json> after = read_metrics(temp_ / "second");
  ASSERT_EQ(after.size(), 7U);
  for (size_t i = 0; i < 6; ++i) sum += after[i].at("loss").get<double>();
  EXPECT_NEAR(after[6].at("train_loss").get<double>(), sum / 12, 1e-6);
}

TEST_F(TrainingLog, WritesItsOptionsIntoTheWorkFolder) {
  TrainOptions o = options("run");
  o.limit_batches = 1;
  train(o, kQuiet);
  EXPECT_EQ(read_file(temp_ / "run/config.toml"), options_to_toml(o));
}

}  // namespace
}  // namespace ffkit
