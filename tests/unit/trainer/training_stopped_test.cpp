#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <ffkit/launch/stop.h>

#include "checkpoint/work_dir.h"
#include "expect_error.h"
#include "training.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using testing::expect_same_tensors;
using testing::kinds_and_steps;
using testing::kQuiet;

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

}  // namespace
}  // namespace ffkit
