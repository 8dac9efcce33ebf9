// What a network draws at random (dropout) in a step: other numbers on each process with samples of
// its own, in each step and for each seed; the same ones when a step is done again.
#include "step/training_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "optim/optimizer.h"
#include "support/fake_model.h"
#include "support/world.h"

namespace ffkit {
namespace {

// Its loss is a number that it draws.
class DrawingTask final : public Task {
 public:
  using Task::Task;

  void open() override {}
  void open_noise() override {}
  std::string fingerprint() const override { return ""; }
  std::unique_ptr<BatchSource> training_batches(int64_t) override { return nullptr; }
  std::unique_ptr<BatchSource> validation_batches() override { return nullptr; }
  DeviceBatch noise() override { return {}; }
  Model& make_model() override { return model_; }
  at::Tensor loss(const DeviceBatch& batch) override { return forward(batch); }
  at::Tensor forward(const DeviceBatch&) override {
    return weight_.sum() * at::rand({}, at::kDouble);
  }
  std::unique_ptr<Evaluation> evaluation() override { return nullptr; }

 private:
  at::Tensor weight_ = at::ones({1}, at::kDouble).requires_grad_(true);
  testing::FakeModel model_{{{"weight", weight_}}, {}};
};

// What the batches of step `step` draw on each of two processes, rank after rank: libtorch's
// generator is the process's, and the ranks are threads here.
std::vector<double> draws(uint64_t seed, int64_t step, int accumulate = 1) {
  TrainOptions options;
  options.seed = seed;
  options.lr = 0;
  options.momentum = 0;
  options.weight_decay = 0;
  options.broadcast_buffers = false;
  options.accumulate = accumulate;
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

TEST(TrainingStep, DrawsTheSameNumbersWhenAStepIsDoneAgain) {
  EXPECT_EQ(draws(7, 30), draws(7, 30));
}

}  // namespace
}  // namespace ffkit
