#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include <ffkit/base/error.h>
#include <ffkit/loader/torch.h>
#include <ffkit/trainer/pinned_allocator.h>

namespace ffkit {

std::shared_ptr<SlabAllocator> pinned_slab_allocator() {
  // Without a device libtorch's allocator throws something unspecific.
  if (!at::globalContext().hasCUDA()) {
    throw Error(ErrorCode::unsupported,
                "pinned memory needs a CUDA device, and libtorch sees none; leave the allocator to "
                "the loader");
  }
  return std::make_shared<TensorSlabAllocator>([](int64_t num_bytes) {
    return at::empty({num_bytes}, at::TensorOptions(at::kByte).pinned_memory(true));
  });
}

}  // namespace ffkit
