#include <ATen/ops/mm.h>

#include "device/device.h"
#include "step/training_step.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

TEST(HostScalar, IsTheNumberInBothTypes) {
  EXPECT_EQ(HostScalar(at::full({}, 0.1, at::kDouble)).get(), 0.1);
  EXPECT_EQ(HostScalar(at::full({}, 0.1, at::kFloat)).get(), double{0.1F});
}

// The number is computed behind a long product, and what the device gets afterwards does not change
// it.
TEST(HostScalar, WaitsForTheNumberOfAGpu) {
  if (!cuda_is_available()) GTEST_SKIP() << "there is no GPU";
  const c10::Device gpu(at::kCUDA, 0);
  at::Tensor ones = at::ones({4096, 4096}, at::TensorOptions(gpu));
  at::Tensor product = at::mm(ones, ones);
  const HostScalar sum(product.mean());
  for (int i = 0; i < 20; ++i) product = at::mm(product, ones) / 4096;
  EXPECT_EQ(sum.get(), 4096);
}

TEST(CudaModule, SaysWhatToDoWithoutIt) {
  if (cuda_is_available()) GTEST_SKIP() << "there is a GPU";
  EXPECT_ERROR(cuda_module(), unsupported);
}

}  // namespace
}  // namespace ffkit
