#include <ffkit/launch/stop.h>

#include "checkpoint/work_dir.h"
#include "test_prelude.h"
#include "training.h"

namespace ffkit {
namespace {

using testing::expect_same_tensors;
using testing::kinds_and_steps;
using testing::kQuiet;
using testing::read_metrics;

class StoppedTraining : public testing::TrainerTest {};

TEST_F(StoppedTraining, LosesNothingWhenItIsStoppedWhileItValidates) {
  TrainOptions o = options("straight");
  testing::write_synthetic_dataset(temp_ / "much", {.num_train = 16, .num_val = 1500});
  o.data = temp_ / "much";
  o.epochs = 1;
  train(o, kQuiet);
  EXPECT_EQ(list_checkpoints(o.work_dir).size(), 1U) << "the one before the validation is replaced";

  o.work_dir = temp_ / "stopped";
  const fs::path before = o.work_dir / "epoch-0000-samples-000000016.safetensors";
  std::atomic<bool> is_over{false};
  std::thread preempting([&] {
    while (!fs::exists(before) && !is_over) std::this_thread::yield();
    request_stop(SIGTERM);
  });
  const TrainSummary summary = train(o, kQuiet);
  is_over = true;
  preempting.join();
  request_stop(0);
  EXPECT_TRUE(summary.is_stopped);
  EXPECT_EQ(summary.epochs_done, 0);
  EXPECT_EQ(summary.checkpoint, before);

  // As if it had been killed between the line of the validation and its checkpoint.
  std::ofstream(o.work_dir / "metrics.jsonl", std::ios::app)
      << R"({"kind":"validation","step":2,"epoch":1})"
      << "\n";
  const TrainSummary resumed = train_or_resume(o, kQuiet);
  EXPECT_EQ(resumed.epochs_done, 1);
  EXPECT_EQ(resumed.last.count, 1500);
  EXPECT_EQ(list_checkpoints(o.work_dir).size(), 1U);
  expect_same_tensors(temp_ / "straight/epoch-0001.safetensors",
                      o.work_dir / "epoch-0001.safetensors");
  EXPECT_EQ(kinds_and_steps(o.work_dir), kinds_and_steps(temp_ / "straight"));
}

TEST_F(StoppedTraining, SaysThatAnEvaluationWasStopped) {
  TrainOptions o = options("run");
  o.limit_batches = 1;
  train(o, kQuiet);
  request_stop(SIGTERM);
  EXPECT_ERROR(evaluate(o, temp_ / "run", kQuiet), cancelled);
  request_stop(0);
}

// Two epochs that are well, to go on from with a learning rate that is not.
class TrainingDiverged : public testing::TrainerTest {
 protected:
  TrainOptions after_two_epochs(double lr) {
    TrainOptions o = options("run");
    o.warmup_epochs = 0;
    o.lr_schedule = LrSchedule::constant;
    train(o, kQuiet);
    o.epochs = 4;
    o.lr = lr;
    return o;
  }
  std::string newest() const { return list_checkpoints(temp_ / "run").back().path.filename(); }
};

TEST_F(TrainingDiverged, EndsWithTheLastGoodCheckpointAndGoesOnFromIt) {
  TrainOptions o = after_two_epochs(1e12);
  EXPECT_ERROR(train_or_resume(o, kQuiet), invalid_argument);
  EXPECT_EQ(newest(), "epoch-0002.safetensors");
  o.lr = 0.001;
  const TrainSummary summary = train_or_resume(o, kQuiet);
  EXPECT_EQ(summary.epochs_done, 2);
  EXPECT_EQ(newest(), "epoch-0004.safetensors");
}

// One step an epoch: weights are finite, and what they compute is not.
TEST_F(TrainingDiverged, DoesNotTakeWeightsForGoodWhoseValidationIsNoNumber) {
  TrainOptions o = after_two_epochs(1e25);
  o.limit_batches = 1;
  o.keep_checkpoints = 1;
  EXPECT_ERROR(train_or_resume(o, kQuiet), invalid_argument);
  EXPECT_EQ(newest(), "epoch-0002.safetensors");
  for (const nlohmann::json& line : read_metrics(temp_ / "run"))
    EXPECT_TRUE(line.at("epoch") <= 2 || line.at("kind") == "train") << line;
}

TEST_F(TrainingDiverged, RefusesWeightsThatAreNoNumbers) {
  train(options("run"), kQuiet);
  SafeTensors weights = read_safetensors(temp_ / "run/epoch-0002.safetensors");
  std::erase_if(weights.tensors,
                [](const NamedTensor& t) { return !t.name.starts_with("model."); });
  for (NamedTensor& t : weights.tensors) t.name.erase(0, 6);
  for (const NamedTensor& t : weights.tensors) {
    if (t.name == "fc.weight") t.tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  }
  weights.metadata = {};
  const fs::path file = temp_ / "nan.safetensors";
  write_safetensors(file, weights);
  TrainOptions o = options();
  EXPECT_ERROR(evaluate(o, file, kQuiet), invalid_argument, .path = file);
  EXPECT_ERROR(export_weights(file, temp_ / "out.pth"), invalid_argument);
  o.pretrained = file;
  EXPECT_ERROR(train(o, kQuiet), invalid_argument, .path = file);
}

// A checkpoint of weights that are NaN is passed over like a damaged one.
TEST_F(TrainingDiverged, GoesOnFromTheCheckpointBeforeOneThatHoldsNaN) {
  TrainOptions o = after_two_epochs(0.01);
  const fs::path file = temp_ / "run/epoch-0002.safetensors";
  SafeTensors contents = read_safetensors(file);
  contents.tensors.front().tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  fs::remove(file);
  write_safetensors(file, contents);
  EXPECT_ERROR(resume_training(o, file, kQuiet), invalid_argument);
  EXPECT_EQ(train_or_resume(o, kQuiet).epochs_done, 3);
}

}  // namespace
}  // namespace ffkit
