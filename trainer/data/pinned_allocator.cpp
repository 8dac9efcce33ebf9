#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <ffkit/format/error.h>
#include <ffkit/trainer/pinned_allocator.h>

namespace ffkit {
namespace {

class PinnedSlabAllocator final : public SlabAllocator {
 public:
  void* allocate(size_t num_bytes) override {
    constexpr uintptr_t kAlignment = 4096;
    at::DataPtr memory = at::getHostAllocator(at::kCUDA)->allocate(num_bytes);
    void* slab = memory.get();
    // CUDA gives whole pages, of which libtorch hands out powers of two.
    if (slab == nullptr || reinterpret_cast<uintptr_t>(slab) % kAlignment != 0) {
      throw std::bad_alloc();
    }
    std::lock_guard lock(mutex_);
    slabs_.emplace(slab, std::move(memory));
    return slab;
  }

  void deallocate(void* slab, size_t) noexcept override {
    std::lock_guard lock(mutex_);
    slabs_.erase(slab);
  }

 private:
  std::mutex mutex_;
  std::map<void*, at::DataPtr> slabs_;  // each gives its memory back when it is destroyed
};

}  // namespace

std::shared_ptr<SlabAllocator> pinned_slab_allocator() {
  // Without a device libtorch's allocator throws something unspecific.
  if (!at::globalContext().hasCUDA()) {
    throw Error(ErrorCode::unsupported,
                "pinned memory needs a CUDA device, and libtorch sees none; leave the allocator to "
                "the loader");
  }
  return std::make_shared<PinnedSlabAllocator>();
}

}  // namespace ffkit
