// Slabs in page-locked ("pinned") memory of libtorch's allocator, from which a GPU copies by
// itself.
#pragma once

#include <memory>

#include <ffkit/loader/slab_allocator.h>

namespace ffkit {

// For LoaderOptions::allocator. It is a TensorSlabAllocator: tensors of torch.h may be copied to
// the GPU asynchronously, and dropped during the copy. libtorch rounds sizes up to powers of two,
// and keeps the memory when the loader ends. Throws Error(unsupported) if libtorch sees no CUDA
// device.
std::shared_ptr<SlabAllocator> pinned_slab_allocator();

}  // namespace ffkit
