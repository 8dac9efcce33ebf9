// The part of the trainer that needs CUDA's libraries: a module of its own, opened when there is a
// GPU, so that one program runs on both kinds of machine.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <filesystem>

namespace c10d {
class ProcessGroup;
class Store;
}  // namespace c10d

namespace ffkit {

struct GpuAttentionKernels;  // ops/deformable_attention_threads.h

class CudaModule {
 public:
  virtual ~CudaModule() = default;
  // Gives `group` the backend NCCL for `device`.
  virtual void add_nccl(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                        const c10::intrusive_ptr<c10d::Store>& store, c10::Device device,
                        std::chrono::milliseconds timeout) = 0;
  // Null where the module was built without nvcc.
  virtual const GpuAttentionKernels* attention_kernels() const = 0;
};

// Opens libtorch's CUDA libraries and the module; true when there is a GPU to train on. To be asked
// before anything else asks libtorch about CUDA: it keeps the first answer.
bool cuda_is_available();

// Null when there is no GPU, or when the module was not built or cannot be opened.
CudaModule* find_cuda_module();

// Throws Error(unsupported) when the module was not built or cannot be opened.
CudaModule& cuda_module();

// The folder of the library or program that holds the function or object at `symbol`, absolute,
// also for a program that was found through PATH; empty for an address outside all of them.
std::filesystem::path library_folder(const void* symbol);

}  // namespace ffkit
