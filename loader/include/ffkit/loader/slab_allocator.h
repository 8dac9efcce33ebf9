// SlabAllocator: the memory of batches. The loader allocates all its slabs at construction, reuses
// them, and deallocates them at destruction. Implementations must be thread-safe.
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
  // Whether a slab is deallocated with its batch, and each batch gets a new one. Use this for
  // memory that may be read after the batch is gone, such as pinned memory from which a GPU copies:
  // only the allocator knows when the copy ends. allocate() should then be cheap. Must not change.
  [[nodiscard]] virtual bool takes_back_each_batch() const { return false; }
};

// Page-aligned memory from the C++ heap, with transparent huge pages advised.
std::shared_ptr<SlabAllocator> default_slab_allocator();

}  // namespace ffkit
