// SlabAllocator: where batches live. The loader asks for all its slabs at construction and gives them back at destruction.
// Implementations must be thread-safe.
#pragma once

#include <cstddef>
#include <memory>

namespace ffkit {

class SlabAllocator {
 public:
  virtual ~SlabAllocator() = default;
  // Returns `num_bytes` bytes aligned to at least 4096, never null; throws std::bad_alloc.
  virtual void* allocate(size_t num_bytes) = 0;
  virtual void deallocate(void* slab, size_t num_bytes) noexcept = 0;
};

// Page-aligned memory from the C++ heap, with transparent huge pages advised.
std::shared_ptr<SlabAllocator> default_slab_allocator();

}  // namespace ffkit
