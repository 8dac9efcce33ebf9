// libffkit_trainer_cuda.so: what is compiled against NCCL and CUDA.
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

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
};

}  // namespace
}  // namespace ffkit

extern "C" __attribute__((visibility("default"))) ffkit::CudaModule* ffkit_cuda_module() {
  static ffkit::NcclModule module;
  return &module;
}
