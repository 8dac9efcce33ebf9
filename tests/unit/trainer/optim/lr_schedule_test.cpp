#include "optim/lr_schedule.h"

#include "reference_python.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

TrainOptions options(LrSchedule schedule, double warmup_epochs) {
  TrainOptions o;
  o.lr_schedule = schedule;
  o.lr = 0.4;
  o.epochs = 10;
  o.warmup_epochs = warmup_epochs;
  o.warmup_start = 0.25;
  o.lr_step_epochs = 3;
  o.lr_gamma = 0.1;
  return o;
}

TEST(LearningRate, RisesLinearlyToItsPeakDuringWarmUp) {
  const TrainOptions o = options(LrSchedule::cosine, 2);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 0), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 4), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 8), 0.4);
}

// 10 epochs of 4 steps, counted both ways.
TEST(LearningRate, CountsStepsAsItCountsEpochs) {
  for (const LrSchedule schedule : {LrSchedule::cosine, LrSchedule::step, LrSchedule::polynomial,
                                    LrSchedule::onecycle, LrSchedule::constant}) {
    const TrainOptions epochs = options(schedule, schedule == LrSchedule::onecycle ? 0 : 2);
    TrainOptions steps = epochs;
    steps.epochs = 90;
    steps.steps = 40;
    steps.warmup_epochs = 0;
    steps.warmup_steps = schedule == LrSchedule::onecycle ? 0 : 8;
    steps.lr_step_epochs = 30;
    steps.lr_step_steps = 12;
    for (int64_t step = 0; step < 40; ++step) {
      EXPECT_EQ(learning_rate(epochs, 4, step), learning_rate(steps, 4, step)) << "step " << step;
      // Whatever an epoch is.
      EXPECT_EQ(learning_rate(steps, 4, step), learning_rate(steps, 7, step)) << "step " << step;
    }
  }
}

TEST(LearningRate, WarmsUpForAPartOfAnEpoch) {
  const TrainOptions o = options(LrSchedule::constant, 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5, 0), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5, 2), 0.1 + 0.3 * 2 / 2.5);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5, 3), 0.4);
}

TEST(LearningRate, FollowsHalfACosineAfterWarmUp) {
  TrainOptions o = options(LrSchedule::cosine, 2);
  EXPECT_NEAR(learning_rate(o, 4, 8 + 16), 0.2, 1e-12);                      // half way
  EXPECT_NEAR(learning_rate(o, 4, 8 + 8), 0.2 * (1 + 0.70710678118), 1e-9);  // a quarter
  EXPECT_NEAR(learning_rate(o, 4, 40), 0.0, 1e-12);                          // one past the last
  EXPECT_GT(learning_rate(o, 4, 39), 0.0);
  o.lr_min = 0.1;
  EXPECT_NEAR(learning_rate(o, 4, 8 + 16), 0.25, 1e-12);
  EXPECT_NEAR(learning_rate(o, 4, 40), 0.1, 1e-12);
}

TEST(LearningRate, StartsAtItsPeakWithoutWarmUp) {
  for (const LrSchedule schedule :
       {LrSchedule::cosine, LrSchedule::step, LrSchedule::polynomial, LrSchedule::constant}) {
    EXPECT_DOUBLE_EQ(learning_rate(options(schedule, 0), 5, 0), 0.4);
  }
}

TEST(LearningRate, FallsByGammaAtStepEpochs) {
  const TrainOptions o = options(LrSchedule::step, 1);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5, 5), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5, 19), 0.4);  // three epochs after the warm-up
  EXPECT_NEAR(learning_rate(o, 5, 20), 0.04, 1e-15);
  EXPECT_NEAR(learning_rate(o, 5, 35), 0.004, 1e-15);
}

TEST(LearningRate, FallsByAPowerOfWhatIsLeft) {
  TrainOptions o = options(LrSchedule::polynomial, 0);
  o.lr_power = 2;
  EXPECT_NEAR(learning_rate(o, 4, 20), 0.1, 1e-12);  // half way
  o.lr_min = 0.2;
  EXPECT_NEAR(learning_rate(o, 4, 20), 0.25, 1e-12);
}

TEST(LearningRate, IsANumberWhenTheWholeRunWarmsUp) {
  for (const LrSchedule schedule :
       {LrSchedule::cosine, LrSchedule::polynomial, LrSchedule::step, LrSchedule::constant}) {
    const TrainOptions o = options(schedule, 10);
    EXPECT_DOUBLE_EQ(learning_rate(o, 1, 0), 0.1);
    EXPECT_GE(learning_rate(o, 1, 10), 0);
  }
  TrainOptions o = options(LrSchedule::onecycle, 0);
  o.epochs = 1;
  EXPECT_GT(learning_rate(o, 1, 0), 0);
}

// Values of one schedule over 10 epochs of 4 steps.
std::vector<double> rates(const TrainOptions& o) {
  std::vector<double> out;
  for (int64_t step = 0; step < 40; ++step) out.push_back(learning_rate(o, 4, step));
  return out;
}

// A schedule of torch's after each warm-up, step by step.
TEST(LearningRateReference, EqualsTorchsSchedulers) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir folder;
  ASSERT_TRUE(testing::run_python(R"(
import warnings
import numpy as np
import torch
from torch.optim.lr_scheduler import *
warnings.simplefilter("ignore")

def write(name, make, lr=0.4):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler = make(optimizer)
    values = []
    for _ in range(40):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    np.array(values, dtype=np.float64).tofile(name)

def after_warmup(steps, make):
    if steps == 0:
        return make
    return lambda o: SequentialLR(o, [LinearLR(o, start_factor=0.25, total_iters=steps), make(o)], [steps])

for warmup in 0, 1, 8, 10, 13, 36:
    left = 40 - warmup
    for name, make in {
        "cosine": lambda o: CosineAnnealingLR(o, T_max=left, eta_min=0.01),
        "polynomial": lambda o: PolynomialLR(o, total_iters=left, power=1.5),
        "step": lambda o: StepLR(o, step_size=12, gamma=0.1),
        "constant": lambda o: ConstantLR(o, factor=1, total_iters=1),
    }.items():
        write(f"{name}-{warmup}", after_warmup(warmup, make))
write("onecycle-0", lambda o: OneCycleLR(o, max_lr=0.4, total_steps=40))
)",
                                  folder.path()));
  const auto expect_equal = [&](const std::string& name, const TrainOptions& o) {
    const std::vector<double> expected = testing::read_values<double>(folder / name);
    const std::vector<double> got = rates(o);
    ASSERT_EQ(expected.size(), got.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 1e-9) << name << ", step " << i;
    }
  };
  for (const int64_t warmup : {0, 1, 8, 10, 13, 36}) {
    TrainOptions cosine = options(LrSchedule::cosine, double(warmup) / 4);
    cosine.lr_min = 0.01;
    expect_equal(fmt::format("cosine-{}", warmup), cosine);
    TrainOptions polynomial = options(LrSchedule::polynomial, double(warmup) / 4);
    polynomial.lr_power = 1.5;
    expect_equal(fmt::format("polynomial-{}", warmup), polynomial);
    TrainOptions step = options(LrSchedule::step, double(warmup) / 4);
    expect_equal(fmt::format("step-{}", warmup), step);
    step.lr_step_steps = 12;
    step.lr_step_epochs = 1;
    expect_equal(fmt::format("step-{}", warmup), step);
    expect_equal(fmt::format("constant-{}", warmup),
                 options(LrSchedule::constant, double(warmup) / 4));
  }
  expect_equal("onecycle-0", options(LrSchedule::onecycle, 0));
}

// A warm-up that ends within a step is over with the next one.
TEST(LearningRate, CountsItsDropsFromTheFirstStepAfterAWarmUp) {
  TrainOptions o = options(LrSchedule::step, 0.6);
  o.lr_step_steps = 4;
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 3), 0.4);  // 2.4 steps
  EXPECT_DOUBLE_EQ(learning_rate(o, 4, 6), 0.4);
  EXPECT_NEAR(learning_rate(o, 4, 7), 0.04, 1e-15);
}

}  // namespace
}  // namespace ffkit
