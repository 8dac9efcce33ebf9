#include <sys/mman.h>

#include <new>

#include <ffkit/loader/slab_allocator.h>

namespace ffkit {
namespace {

constexpr size_t kSlabPageBytes = 4096;
constexpr size_t kHugePageBytes = size_t{2} << 20;

// Slabs of at least one huge page start on a huge page, so that the kernel can back all of them
// with huge pages.
constexpr std::align_val_t alignment_for(size_t num_bytes) {
  return std::align_val_t{num_bytes >= kHugePageBytes ? kHugePageBytes : kSlabPageBytes};
}

class HeapSlabAllocator final : public SlabAllocator {
 public:
  void* allocate(size_t num_bytes) override {
    void* slab = ::operator new(num_bytes, alignment_for(num_bytes));
    // Advice only: kernels without transparent huge pages refuse it, and small pages do as well.
    if (num_bytes >= kHugePageBytes) {
      static_cast<void>(madvise(slab, num_bytes / kSlabPageBytes * kSlabPageBytes, MADV_HUGEPAGE));
    }
    return slab;
  }

  void deallocate(void* slab, size_t num_bytes) noexcept override {
    ::operator delete(slab, alignment_for(num_bytes));
  }
};

}  // namespace

std::shared_ptr<SlabAllocator> default_slab_allocator() {
  return std::make_shared<HeapSlabAllocator>();
}

}  // namespace ffkit
