#include <ATen/ops/linear.h>

#include "device/device.h"
#include "optim/gradients.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

// Where there is a GPU, its kernels are tested.
c10::Device tested_device() {
  return cuda_is_available() ? c10::Device(at::kCUDA, 0) : c10::Device(at::kCPU);
}

NamedTensor with_gradient(double value) {
  at::Tensor p = at::ones({3}, tested_device()).requires_grad_();
  p.mutable_grad() = at::full({3}, value, tested_device());
  return {"p", p};
}

TEST(GradScaler, ScalesTheLossAndDividesTheGradients) {
  GradScaler scaler(true, 128, tested_device());
  EXPECT_EQ(scaler.scale(at::full({}, 2.0, tested_device())).item<double>(), 256);
  const NamedTensor p = with_gradient(128);
  EXPECT_TRUE(scaler.unscale({p}));
  EXPECT_TRUE(p.tensor.grad().equal(at::ones({3}, tested_device())));
  scaler.update();
  EXPECT_EQ(scaler.state()[0].tensor.item<double>(), 128);  // it is fixed
}

TEST(GradScaler, HalvesAfterAnOverflowAndDoublesAfterManyGoodSteps) {
  GradScaler scaler(true, 0, tested_device());
  const auto value = [&] { return scaler.state()[0].tensor.item<double>(); };
  EXPECT_EQ(value(), 65536);
  EXPECT_FALSE(
      scaler.unscale({with_gradient(std::numeric_limits<double>::infinity()), with_gradient(1)}));
  scaler.update();
  EXPECT_EQ(value(), 32768);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_TRUE(scaler.unscale({with_gradient(1)}));
    scaler.update();
  }
  EXPECT_EQ(value(), 65536);
}

TEST(GradScaler, DoesNothingWhenOff) {
  GradScaler scaler(false, 0, tested_device());
  EXPECT_EQ(scaler.scale(at::full({}, 2.0, tested_device())).item<double>(), 2);
  EXPECT_TRUE(scaler.unscale({with_gradient(std::numeric_limits<double>::infinity())}));
  EXPECT_TRUE(scaler.state().empty());
}

TEST(Autocast, LowersThePrecisionWhileItLives) {
  const at::Tensor x = at::ones({2, 4}, tested_device()), w = at::ones({3, 4}, tested_device());
  for (const auto& [amp, dtype] :
       {std::pair{Amp::off, at::kFloat}, std::pair{Amp::bf16, at::kBFloat16},
        std::pair{Amp::fp16, at::kHalf}}) {
    const Autocast autocast(amp, tested_device());
    EXPECT_EQ(at::linear(x, w).scalar_type(), dtype);
  }
  EXPECT_EQ(at::linear(x, w).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace ffkit
