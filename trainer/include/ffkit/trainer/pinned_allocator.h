// Slabs in memory that a GPU copies from by itself: page-locked ("pinned") by libtorch's allocator
// for the device.
#pragma once

#include <memory>

#include <ffkit/loader/slab_allocator.h>

namespace ffkit {

// For LoaderOptions::allocator: a TensorSlabAllocator, so the tensors of torch.h may be copied to
// the GPU asynchronously, and dropped while the copy is under way. Throws Error(unsupported) where
// libtorch sees no CUDA device. libtorch rounds sizes up to powers of two and keeps the memory when
// the loader ends.
std::shared_ptr<SlabAllocator> pinned_slab_allocator();

}  // namespace ffkit
