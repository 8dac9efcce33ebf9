#include "decode_pool.h"

#include <algorithm>
#include <utility>

namespace ffkit {
namespace {

// TBB has one worker fewer than the process has cores, since it counts on the caller's help; ours sleeps in next(). Values
// above that are asked for here for as long as a pool lives. Of several such requests TBB takes the smallest.
size_t parallelism_for(int num_threads) {
  constexpr auto kParameter = tbb::global_control::max_allowed_parallelism;
  return std::max(static_cast<size_t>(num_threads) + 1,
                  tbb::global_control::active_value(kParameter));
}

}  // namespace

DecodePool::DecodePool(int num_threads, size_t capacity, Work work)
    : work_(std::move(work)),
      parallelism_(tbb::global_control::max_allowed_parallelism, parallelism_for(num_threads)),
      arena_(num_threads, /*reserved_for_masters=*/0),
      waiting_(capacity) {
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
    lock.unlock();
    work_(tbb::this_task_arena::current_thread_index(), chunk);
    lock.lock();
  }
  if (--num_tasks_ == 0) idle_.notify_all();
}

}  // namespace ffkit
