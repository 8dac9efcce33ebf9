// NCCL by the module that fftrain opens where there is a GPU. A GPU takes part once: this is a
// world of one process, whose calls go through NCCL all the same.
#include <ATen/ops/empty_like.h>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "device/device.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

TEST(Nccl, AddsUpGathersAndBroadcasts) {
  if (!cuda_is_available()) GTEST_SKIP() << "there is no GPU";
  const testing::TempDir temp;
  const c10::Device device(at::kCUDA, 0);
  const auto store = c10::make_intrusive<c10d::FileStore>((temp / "store").string(), 1);
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, /*rank=*/0, /*size=*/1);
  cuda_module().add_nccl(group, store, device, std::chrono::seconds(60));
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
  EXPECT_EQ(group->getDefaultBackend()->getBackendName(), "nccl");
  const at::Tensor expected = at::arange(1000, at::TensorOptions(at::kFloat).device(device));
  std::vector<at::Tensor> tensors = {expected.clone()};
  group->allreduce(tensors)->wait();
  EXPECT_TRUE(tensors[0].equal(expected));
  group->broadcast(tensors)->wait();
  EXPECT_TRUE(tensors[0].equal(expected));
  std::vector<std::vector<at::Tensor>> gathered = {{at::empty_like(expected)}};
  group->allgather(gathered, tensors)->wait();
  EXPECT_TRUE(gathered[0][0].equal(expected));
  group->getBackend(c10d::ProcessGroup::BackendType::NCCL)->shutdown();
}

}  // namespace
}  // namespace ffkit
