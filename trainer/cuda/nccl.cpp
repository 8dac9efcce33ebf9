// libffkit_trainer_cuda.so: what is compiled against NCCL and CUDA, and the kernels where nvcc was
// found.
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#ifdef FFKIT_CUDA_KERNELS
#include "trainer/ops/deformable_attention_threads.h"
#endif
#include "trainer/device/cuda_module.h"

namespace ffkit {
namespace {

class NcclModule final : public CudaModule {
 public:
  void add_nccl(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                const c10::intrusive_ptr<c10d::Store>& store, c10::Device device,
                std::chrono::milliseconds timeout) override {
    auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/false);
    options->timeout = timeout;
    group->setBoundDeviceId(device);
    const auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, group->getRank(),
                                                                  group->getSize(), options);
    group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
  }

  const GpuAttentionKernels* attention_kernels() const override {
#ifdef FFKIT_CUDA_KERNELS
    return &gpu_attention_kernels();
#else
    return nullptr;
#endif
  }
};

}  // namespace
}  // namespace ffkit

extern "C" __attribute__((visibility("default"))) ffkit::CudaModule* ffkit_cuda_module() {
  static ffkit::NcclModule module;
  return &module;
}
