#include <gtest/gtest.h>

#include <limits>

#include "checkpoint/work_dir.h"
#include "expect_error.h"
#include "training.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using testing::kQuiet;
using testing::read_metrics;

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
