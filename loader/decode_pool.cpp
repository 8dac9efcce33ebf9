#include "decode_pool.h"

#include <utility>

namespace ffkit {

DecodePool::DecodePool(int num_threads, size_t capacity, Work work)
    : work_(std::move(work)),
      worker_limit_(num_threads),
      arena_(num_threads, /*reserved_for_masters=*/0),
      waiting_(capacity) {
  for (int slot = num_threads; slot > 0; --slot) free_slots_.push_back(slot - 1);
  arena_.initialize();
}

DecodePool::~DecodePool() {
  cancel();
}

void DecodePool::submit(std::span<const SampleChunk> chunks) {
  {
    std::lock_guard lock(mutex_);
    for (const SampleChunk& chunk : chunks) {
      waiting_[(first_ + num_waiting_++) % waiting_.size()] = chunk;
    }
    num_tasks_ += chunks.size();
  }
  // One task a chunk, and not one that goes on until the queue is empty: so TBB can share its workers among several loaders.
  for (size_t i = 0; i < chunks.size(); ++i) arena_.enqueue([this] { run_one(); });
}

void DecodePool::cancel() {
  std::unique_lock lock(mutex_);
  num_waiting_ = 0;
  idle_.wait(lock, [this] { return num_tasks_ == 0; });
}

void DecodePool::run_one() {
  std::unique_lock lock(mutex_);
  if (num_waiting_ > 0) {
    const SampleChunk chunk = waiting_[first_];
    first_ = (first_ + 1) % waiting_.size();
    --num_waiting_;
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    lock.unlock();
    work_(slot, chunk);
    lock.lock();
    free_slots_.push_back(slot);
  }
  if (--num_tasks_ == 0) idle_.notify_all();
}

}  // namespace ffkit
