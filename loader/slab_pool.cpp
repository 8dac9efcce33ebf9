#include "slab_pool.h"

#include <utility>

namespace ffkit {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

SlabPool::SlabPool(std::shared_ptr<SlabAllocator> allocator, int64_t num_slabs, int64_t batch_size,
                   int64_t image_size, const ImageOutput& output)
    : allocator_(std::move(allocator)), slabs_(static_cast<size_t>(num_slabs)) {
  const auto batch = static_cast<size_t>(batch_size);
  bytes_per_image_ = 3 * static_cast<size_t>(image_size * image_size) * size_of(output.dtype);
  bytes_per_slab_ = (batch * bytes_per_image_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  free_.reserve(slabs_.size());
  try {
    for (Batch::Slab& slab : slabs_) {
      slab.pool = this;
      slab.labels.resize(batch);
      slab.record_indices.reserve(batch);
      slab.image_size = image_size;
      slab.dtype = output.dtype;
      slab.layout = output.layout;
      slab.images = static_cast<std::byte*>(allocator_->allocate(bytes_per_slab_));
      free_.push_back(&slab);
    }
  } catch (...) {
    for (Batch::Slab* slab : free_) allocator_->deallocate(slab->images, bytes_per_slab_);
    throw;
  }
}

SlabPool::~SlabPool() {
  for (Batch::Slab& slab : slabs_) allocator_->deallocate(slab.images, bytes_per_slab_);
}

Batch::Slab* SlabPool::acquire() {
  std::lock_guard lock(mutex_);
  Batch::Slab* slab = free_.back();
  free_.pop_back();
  return slab;
}

void SlabPool::discard(Batch::Slab* slab) {
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
}

Batch SlabPool::hand_over(Batch::Slab* slab) {
  {
    std::lock_guard lock(mutex_);
    ++num_held_;
  }
  // The slab is part of the pool: sharing the pool's reference count allocates nothing and keeps it alive.
  return Batch(std::shared_ptr<Batch::Slab>(shared_from_this(), slab));
}

int64_t SlabPool::num_held() const {
  std::lock_guard lock(mutex_);
  return num_held_;
}

void SlabPool::give_back(Batch::Slab* slab) {
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
  --num_held_;
}

}  // namespace ffkit
