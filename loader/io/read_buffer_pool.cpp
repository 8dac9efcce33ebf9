#include "io/read_buffer_pool.h"

#include <algorithm>

namespace ffkit {
namespace {

size_t round_up_bytes(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr size_t kCacheLine = 64;

}  // namespace

ReadBufferPool::ReadBufferPool(size_t capacity_bytes, size_t max_blocks, size_t alignment)
    : capacity_(round_up_bytes(capacity_bytes, 4096)),
      alignment_(std::max(alignment, kCacheLine)),
      allocator_(default_slab_allocator()),
      memory_(static_cast<std::byte*>(allocator_->allocate(capacity_))),
      blocks_(max_blocks) {}

ReadBufferPool::~ReadBufferPool() {
  for (Block& block : blocks_) {
    if (!block.in_ring && block.data != nullptr) {
      allocator_->deallocate(block.data, block.num_bytes);
    }
  }
  allocator_->deallocate(memory_, capacity_);
}

bool ReadBufferPool::fits(size_t num_bytes, size_t& offset) const {
  if (num_blocks_ == 0) {
    offset = 0;
    return num_bytes <= capacity_;
  }
  if (num_blocks_ == blocks_.size()) return false;
  if (end_ > begin_) {
    if (num_bytes <= capacity_ - end_) {
      offset = end_;
      return true;
    }
    offset = 0;
    return num_bytes <= begin_;
  }
  offset = end_;
  return num_bytes <= begin_ - end_;
}

ReadBufferPool::Block* ReadBufferPool::acquire(size_t num_bytes, int num_users) {
  const size_t block_bytes = round_up_bytes(std::max<size_t>(num_bytes, 1), alignment_);
  std::lock_guard lock(mutex_);
  size_t offset = 0;
  const bool alone = block_bytes > capacity_ && num_blocks_ == 0;
  if (!alone && !fits(block_bytes, offset)) {
    refused_bytes_ = block_bytes;
    return nullptr;
  }
  Block& block = blocks_[(first_ + num_blocks_) % blocks_.size()];
  if (alone) {
    block = {static_cast<std::byte*>(allocator_->allocate(block_bytes)), block_bytes, num_users,
             false};
    begin_ = end_ =
        0;  // the ring counts as full as long as it lives: begin_ == end_ with a block in use
  } else {
    if (num_blocks_ == 0) begin_ = 0;
    block = {memory_ + offset, block_bytes, num_users, true};
    end_ = offset + block_bytes;
  }
  ++num_blocks_;
  return &block;
}

bool ReadBufferPool::release(Block* block) {
  std::lock_guard lock(mutex_);
  if (--block->num_users > 0) return false;
  recycle();
  if (refused_bytes_ == 0) return false;
  size_t offset = 0;
  const size_t wanted = std::min(std::max(refused_bytes_, capacity_ / 4), capacity_);
  if (num_blocks_ > 0 && (!fits(refused_bytes_, offset) || !fits(wanted, offset))) return false;
  refused_bytes_ = 0;
  return true;
}

void ReadBufferPool::reset() {
  std::lock_guard lock(mutex_);
  for (Block& block : blocks_) block.num_users = 0;
  recycle();
  refused_bytes_ = 0;
}

void ReadBufferPool::recycle() {
  while (num_blocks_ > 0 && blocks_[first_].num_users == 0) {
    Block& oldest = blocks_[first_];
    if (!oldest.in_ring) allocator_->deallocate(oldest.data, oldest.num_bytes);
    oldest = {};
    first_ = (first_ + 1) % blocks_.size();
    --num_blocks_;
  }
  if (num_blocks_ > 0) begin_ = static_cast<size_t>(blocks_[first_].data - memory_);
}

}  // namespace ffkit
