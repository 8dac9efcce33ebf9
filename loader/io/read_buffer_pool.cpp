#include <algorithm>

#include "io/read_plan.h"

namespace ffkit {
namespace {

constexpr size_t kCacheLine = 64;

}  // namespace

ReadBufferPool::ReadBufferPool(size_t capacity_bytes, size_t max_buffers, size_t alignment)
    : capacity_(round_up(capacity_bytes, 4096)),
      alignment_(std::max(alignment, kCacheLine)),
      allocator_(default_slab_allocator()),
      memory_(static_cast<std::byte*>(allocator_->allocate(capacity_))),
      buffers_(max_buffers) {}

ReadBufferPool::~ReadBufferPool() {
  for (Buffer& buffer : buffers_) {
    if (!buffer.in_ring && buffer.data != nullptr) {
      allocator_->deallocate(buffer.data, buffer.num_bytes);
    }
  }
  allocator_->deallocate(memory_, capacity_);
}

std::optional<size_t> ReadBufferPool::place_for(size_t num_bytes) const {
  const auto at = [num_bytes](size_t offset, size_t room) {
    return num_bytes <= room ? std::optional(offset) : std::nullopt;
  };
  if (num_buffers_ == 0) return at(0, capacity_);
  if (num_buffers_ == buffers_.size()) return std::nullopt;
  if (end_ <= begin_) return at(end_, begin_ - end_);
  const std::optional<size_t> behind = at(end_, capacity_ - end_);
  return behind ? behind : at(0, begin_);
}

ReadBufferPool::Buffer* ReadBufferPool::acquire(size_t num_bytes, int num_users) {
  const size_t buffer_bytes = round_up(std::max<size_t>(num_bytes, 1), alignment_);
  std::lock_guard lock(mutex_);
  const bool alone = buffer_bytes > capacity_ && num_buffers_ == 0;
  const std::optional<size_t> offset = place_for(buffer_bytes);
  if (!alone && !offset) {
    refused_bytes_ = buffer_bytes;
    return nullptr;
  }
  Buffer& buffer = buffers_[(first_ + num_buffers_) % buffers_.size()];
  if (alone) {
    buffer = {static_cast<std::byte*>(allocator_->allocate(buffer_bytes)), buffer_bytes, num_users,
              false};
    // The ring counts as full as long as it lives: begin_ == end_ with a buffer in use.
    begin_ = end_ = 0;
  } else {
    if (num_buffers_ == 0) begin_ = 0;
    buffer = {memory_ + *offset, buffer_bytes, num_users, true};
    end_ = *offset + buffer_bytes;
  }
  ++num_buffers_;
  return &buffer;
}

bool ReadBufferPool::release(Buffer* buffer) {
  std::lock_guard lock(mutex_);
  if (--buffer->num_users > 0) return false;
  recycle();
  if (refused_bytes_ == 0) return false;
  const size_t wanted = std::min(std::max(refused_bytes_, capacity_ / 4), capacity_);
  if (num_buffers_ > 0 && (!place_for(refused_bytes_) || !place_for(wanted))) return false;
  refused_bytes_ = 0;
  return true;
}

void ReadBufferPool::reset() {
  std::lock_guard lock(mutex_);
  for (Buffer& buffer : buffers_) buffer.num_users = 0;
  recycle();
  refused_bytes_ = 0;
}

void ReadBufferPool::recycle() {
  while (num_buffers_ > 0 && buffers_[first_].num_users == 0) {
    Buffer& oldest = buffers_[first_];
    if (!oldest.in_ring) allocator_->deallocate(oldest.data, oldest.num_bytes);
    oldest = {};
    first_ = (first_ + 1) % buffers_.size();
    --num_buffers_;
  }
  if (num_buffers_ > 0) begin_ = static_cast<size_t>(buffers_[first_].data - memory_);
}

}  // namespace ffkit
