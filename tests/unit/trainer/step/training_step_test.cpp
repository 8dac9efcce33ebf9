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
  void set_epoch(int64_t) override {}
  void restore(const LoaderState&) override {}
  LoaderState state() const override { return {}; }
  std::optional<DeviceBatch> next() override {
    if (num_left_ == 0) return std::nullopt;
    --num_left_;
    return DeviceBatch();
  }
  bool wait_for_batch() override { return num_left_ > 0 || !is_asked_to_stop; }
  double wait_seconds() const override { return 0.25; }

  bool is_asked_to_stop = false;

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
    EXPECT_FALSE(training.is_stopped());
  });
}

// Its statistics count batches.
class CountingTask final : public testing::FakeTask {
 public:
  explicit CountingTask(TaskSetting setting)
      : FakeTask(std::move(setting), at::ones({1}).requires_grad_(true)) {}
  Model& make_model() override { return model_; }
  at::Tensor forward(const DeviceBatch&) override {
    count.add_(1);
    return weight().sum();
  }

  at::Tensor count = at::zeros({1});

 private:
  testing::FakeModel model_{{{"weight", weight()}}, {{"count", count}}};
};

TEST(TrainingStep, LeavesNoTraceWhenItIsStoppedBetweenItsBatches) {
  const TrainOptions options = options_of(5, /*accumulate=*/3);
  testing::run_world(2, [&](Communicator& world) {
    CountingTask task({.options = options, .place = world.place()});
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(options, task.make_model());
    TrainingStep training(options, task, task.make_model(), *optimizer, world);
    SlowSource source(world.rank() == 0 ? 5 : 6);  // one process has no data
    source.is_asked_to_stop = true;
    ASSERT_TRUE(training.run(source, 0, 0).has_value());
    EXPECT_FALSE(training.run(source, 1, 0).has_value());
    EXPECT_TRUE(training.is_stopped());
    EXPECT_EQ(task.count.item<float>(), 3);
  });
}

// Its loss is weight * value of each sample, which counts as much as "counts" says.
class WeighingTask final : public testing::FakeTask {
 public:
  explicit WeighingTask(TaskSetting setting)
      : FakeTask(std::move(setting), at::ones({1}).requires_grad_(true)) {}

  at::Tensor loss(const DeviceBatch& batch) override {
    return (weight() * batch.field("values") * batch.field("counts")).sum() / batch.size;
  }
  at::Tensor loss_weight(const DeviceBatch& batch) override {
    return batch.field("counts").to(at::kDouble).mean();
  }
};

// Gradient and loss of a step over eight samples, in batches of each of the processes.
std::pair<double, double> of_one_step(const at::Tensor& values, const at::Tensor& counts,
                                      int world_size, int accumulate) {
  const TrainOptions options = options_of(1, accumulate);
  const int64_t size = values.size(0) / world_size / accumulate;
  double gradient = 0, loss = 0;
  testing::run_world(world_size, [&](Communicator& world) {
    WeighingTask task({.options = options, .place = world.place()});
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(options, task.make_model());
    TrainingStep training(options, task, task.make_model(), *optimizer, world);
    training.begin(0);
    for (int i = 0; i < accumulate; ++i) {
      const int64_t first = (world.rank() * accumulate + i) * size;
      training.add({.size = size,
                    .fields = {{.name = "values", .values = values.narrow(0, first, size)},
                               {.name = "counts", .values = counts.narrow(0, first, size)}}},
                   i + 1 == accumulate);
    }
    const double own = training.end(0).item<double>();
    const double mean = world.sum(std::vector<double>{own})[0] / world.world_size();
    if (world.rank() != 0) return;
    gradient = task.make_model().parameters()[0].tensor.grad().item<double>();
    loss = mean;
  });
  return {gradient, loss};
}

TEST(TrainingStep, IsOneMeanHoweverItIsCut) {
  const at::Tensor values = at::tensor({1.F, 2.F, 3.F, 4.F, 5.F, 6.F, 7.F, 8.F});
  const at::Tensor counts = at::tensor({0.F, 0.F, 1.F, 9.F, 0.F, 3.F, 2.F, 0.F});
  const double mean = (3 + 36 + 18 + 14) / 15.0;
  for (const int world_size : {1, 2}) {
    for (const int accumulate : {1, 2, 4}) {
      const auto [gradient, loss] = of_one_step(values, counts, world_size, accumulate);
      EXPECT_NEAR(gradient, mean, 1e-6) << world_size << " x " << accumulate;
      EXPECT_NEAR(loss, mean, 1e-6) << world_size << " x " << accumulate;
      // Nothing counts.
      EXPECT_EQ(of_one_step(values, counts * 0, world_size, accumulate), std::pair(0.0, 0.0));
    }
  }
}

TEST(TrainingStep, DrawsTheSameNumbersWhenAStepIsDoneAgain) {
  EXPECT_EQ(draws(7, 30), draws(7, 30));
}

}  // namespace
}  // namespace ffkit
