// SlabAllocator: where batches live. The loader asks for all its slabs at construction, uses them
// again and again, and gives them back at destruction.
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
  // Whether a slab goes back to the allocator with its batch, and the next batch gets another one:
  // for memory of which the allocator alone knows when nobody reads it any more, such as pinned
  // memory that a GPU may still copy from when the batch is gone. allocate() should then be cheap.
  // Must not change.
  virtual bool takes_back_each_batch() const { return false; }
};

// Page-aligned memory from the C++ heap, with transparent huge pages advised.
std::shared_ptr<SlabAllocator> default_slab_allocator();

}  // namespace ffkit
