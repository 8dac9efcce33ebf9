#include "batch/slab_pool.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "base/make_error.h"

namespace ffkit {

void BatchSlab::begin_rows(int64_t num_samples) {
  const SlabLayout& layout = pool->layout();
  for (size_t f = 0; f < layout.fields.size(); ++f) {
    const SlabField& field = layout.fields[f];
    if (!field.has_rows) continue;
    row_offsets[f].assign(static_cast<size_t>(num_samples * field.num_lists) + 1, 0);
    if (texts[f] != nullptr) texts[f]->begin(num_samples);
  }
}

void join_rows(const SlabLayout& layout, BatchSlab& slab) {
  for (size_t f = 0; f < layout.fields.size(); ++f) {
    const SlabField& field = layout.fields[f];
    if (!field.has_rows) continue;
    std::vector<int64_t>& offsets = slab.row_offsets[f];
    if (field.texts != nullptr) {
      std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
      slab.texts[f]->join(offsets);
      continue;
    }
    std::byte* memory = slab.memory + field.offset;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      const auto num_rows = static_cast<size_t>(offsets[i + 1]);
      const auto begin = static_cast<size_t>(offsets[i]);
      if (field.is_ragged && i > 0) {
        std::memmove(memory + begin * field.bytes_per_row, memory + i * field.bytes_per_list,
                     num_rows * field.bytes_per_row);
      }
      offsets[i + 1] += offsets[i];
    }
  }
}

SlabPool::SlabPool(std::shared_ptr<SlabAllocator> allocator, int64_t num_slabs, int64_t batch_size,
                   SlabLayout layout)
    : allocator_(std::move(allocator)), layout_(std::move(layout)), slabs_(num_slabs) {
  free_.reserve(slabs_.size());
  try {
    for (BatchSlab& slab : slabs_) {
      slab.pool = this;
      for (const SlabField& field : layout_.fields) {
        std::vector<int64_t>& shape = slab.shapes.emplace_back(1);
        shape.insert(shape.end(), field.shape.begin(), field.shape.end());
        std::vector<int64_t>& offsets = slab.row_offsets.emplace_back();
        if (field.has_rows) offsets.reserve(static_cast<size_t>(batch_size * field.num_lists) + 1);
      }
      for (const SlabField& field : layout_.fields) {
        slab.texts.push_back(field.texts != nullptr ? std::make_unique<SlabTexts>() : nullptr);
      }
      slab.record_indices.reserve(batch_size);
      slab.replacements.reserve(batch_size);
      allocate(slab);
      free_.push_back(&slab);
    }
  } catch (...) {
    for (BatchSlab* slab : free_) allocator_->deallocate(slab->memory, layout_.num_bytes);
    throw;
  }
}

void SlabPool::allocate(BatchSlab& slab) {
  try {
    slab.memory = static_cast<std::byte*>(allocator_->allocate(layout_.num_bytes));
    if (slab.memory == nullptr) throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
    throw error_of(ErrorCode::io,
                   "there is not enough memory for {} batches of {} bytes; use smaller ones, fewer "
                   "of them (prefetch_batches, held_batches), or give the process more",
                   num_slabs(), layout_.num_bytes);
  }
  if (reinterpret_cast<uintptr_t>(slab.memory) % kSlabAlignment == 0) return;
  void* crooked = std::exchange(slab.memory, nullptr);
  allocator_->deallocate(crooked, layout_.num_bytes);
  throw error_of(ErrorCode::invalid_argument,
                 "the SlabAllocator gives memory at {}; expected a multiple of {}", crooked,
                 kSlabAlignment);
}

SlabPool::~SlabPool() {
  for (BatchSlab& slab : slabs_) {
    if (slab.memory != nullptr) allocator_->deallocate(slab.memory, layout_.num_bytes);
  }
}

BatchSlab* SlabPool::acquire() {
  BatchSlab* slab = nullptr;
  {
    std::lock_guard lock(mutex_);
    slab = free_.back();
    free_.pop_back();
  }
  if (slab->memory != nullptr) return slab;
  try {
    allocate(*slab);
  } catch (...) {
    discard(slab);
    throw;
  }
  return slab;
}

void SlabPool::discard(BatchSlab* slab) {
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
}

Batch SlabPool::hand_over(BatchSlab* slab) {
  for (size_t i = 0; i < slab->shapes.size(); ++i) {
    const bool is_ragged = layout_.fields[i].is_ragged;
    slab->shapes[i][0] = is_ragged ? slab->row_offsets[i].back() : slab->size;
  }
  std::sort(slab->replacements.begin(), slab->replacements.end(),
            [](const Replacement& a, const Replacement& b) {
              return a.index_in_batch < b.index_in_batch;
            });
  {
    std::lock_guard lock(mutex_);
    ++num_held_;
  }
  // The slab is part of the pool: sharing the pool's reference count allocates nothing and keeps it
  // alive.
  return Batch(std::shared_ptr<BatchSlab>(shared_from_this(), slab));
}

int64_t SlabPool::num_held() const {
  std::lock_guard lock(mutex_);
  return num_held_;
}

void SlabPool::give_back(BatchSlab* slab) {
  if (allocator_->takes_back_each_batch()) {
    allocator_->deallocate(std::exchange(slab->memory, nullptr), layout_.num_bytes);
  }
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
  --num_held_;
}

}  // namespace ffkit
