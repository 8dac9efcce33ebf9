// The loss of a step of several batches. What a network draws at random (dropout) in a step: other
// numbers on each process with samples of its own, in each step and for each seed; the same ones
// when a step is done again.
#include "step/training_step.h"

#include <ffkit/trainer/batch_source.h>

#include "optim/optimizer.h"
#include "support/fake_task.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

// Its loss is a number that it draws.
class DrawingTask final : public testing::FakeTask {
 public:
  explicit DrawingTask(TaskSetting setting)
      : FakeTask(std::move(setting), at::ones({1}, at::kDouble).requires_grad_(true)) {}

  at::Tensor forward(const DeviceBatch&) override {
    const at::Tensor drawn = weight().sum() * at::rand({}, at::kDouble);
    losses.push_back(drawn.item<double>());
    return drawn;
  }

  std::vector<double> losses;
};

// Has so many batches, for each of which it is waited a quarter of a second.
class SlowSource final : public BatchSource {
 public:
  explicit SlowSource(int64_t num_batches) : num_left_(num_batches) {}
  int64_t num_batches() const override { return num_left_; }
  void start_epoch(int64_t) override {}
  void restore(const LoaderState&) override {}
  LoaderState state() const override { return {}; }
  std::optional<DeviceBatch> next() override {
    if (num_left_ == 0) return std::nullopt;
    --num_left_;
    return DeviceBatch();
  }
  double wait_seconds() const override { return 0.25; }

 private:
  int64_t num_left_;
};

TrainOptions options_of(uint64_t seed, int accumulate) {
  TrainOptions options;
  options.seed = seed;
  options.lr = 0;
  options.momentum = 0;
  options.weight_decay = 0;
  options.broadcast_buffers = false;
  options.accumulate = accumulate;
  return options;
}

// What the batches of step `step` draw on each of two processes, rank after rank: libtorch's
// generator is the process's, and the ranks are threads here.
std::vector<double> draws(uint64_t seed, int64_t step, int accumulate = 1) {
  const TrainOptions options = options_of(seed, accumulate);
  std::vector<double> out;
  testing::run_world(2, [&](Communicator& world) {
    DrawingTask task({.options = options, .place = world.place()});
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(options, task.make_model());
    TrainingStep training(options, task, task.make_model(), *optimizer, world);
    for (int rank = 0; rank < world.world_size(); ++rank) {
      world.sum(std::vector<double>{0});
      if (rank != world.rank()) continue;
      training.begin(step);
      for (int i = 0; i < accumulate; ++i) out.push_back(task.loss({}).item<double>());
    }
    world.sum(std::vector<double>{0});
  });
  return out;
}

TEST(TrainingStep, DrawsOtherNumbersOnEachProcessInEachStepAndForEachSeed) {
  std::set<double> seen;
  size_t count = 0;
  for (const uint64_t seed : {0, 1}) {
    for (const int64_t step : {0, 1, 1000}) {
      const std::vector<double> numbers = draws(seed, step, /*accumulate=*/2);
      ASSERT_EQ(numbers.size(), 4U);
      seen.insert(numbers.begin(), numbers.end());
      count += numbers.size();
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(TrainingStep, HasTheMeanLossAndTheWaitOfItsBatches) {
  const TrainOptions options = options_of(5, /*accumulate=*/3);
  testing::run_world(1, [&](Communicator& world) {
    DrawingTask task({.options = options, .place = world.place()});
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(options, task.make_model());
    TrainingStep training(options, task, task.make_model(), *optimizer, world);
    SlowSource source(5);
    const auto result = training.run(source, /*step=*/0, /*lr=*/0);
    ASSERT_TRUE(result.has_value());
    ASSERT_EQ(task.losses.size(), 3U);
    EXPECT_NEAR(result->loss.get(), (task.losses[0] + task.losses[1] + task.losses[2]) / 3, 1e-6);
    EXPECT_EQ(result->wait_seconds, 0.75);
    EXPECT_FALSE(training.run(source, 1, 0).has_value());  // two batches are no step
  });
}

TEST(TrainingStep, DrawsTheSameNumbersWhenAStepIsDoneAgain) {
  EXPECT_EQ(draws(7, 30), draws(7, 30));
}

}  // namespace
}  // namespace ffkit
