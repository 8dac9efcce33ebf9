#include "device/device.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "expect_error.h"

namespace ffkit {
namespace {

TEST(PrepareDevice, SetsHowKernelsAreChosen) {
  TrainOptions o;
  o.device = "cpu";
  for (const bool deterministic : {true, false}) {
    o.deterministic = deterministic;
    EXPECT_EQ(prepare_device(o, {}).type(), c10::kCPU);
    EXPECT_EQ(at::globalContext().deterministicAlgorithms(), deterministic);
    EXPECT_EQ(at::globalContext().deterministicCuDNN(), deterministic);
    EXPECT_EQ(at::globalContext().benchmarkCuDNN(), !deterministic);
  }
}

TEST(PrepareDevice, NamesTheDevicesThatThereAre) {
  TrainOptions o;
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", ""}) {
    o.device = name;
    EXPECT_ERROR(prepare_device(o, {}), invalid_argument);
  }
}

TEST(TorchErrors, SayWhichOperatorIsNotDeterministic) {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  EXPECT_ERROR(
      with_torch_errors([&] { context.alertNotDeterministic("grid_sampler_2d_backward_cuda"); }),
      unsupported);
  context.setDeterministicAlgorithms(false, /*warn_only=*/false);
}

}  // namespace
}  // namespace ffkit
