#include "decode/decode_pool.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "threads/start_thread.h"

namespace ffkit {

DecodePool::DecodePool(int num_threads, size_t capacity, Work work)
    : work_(std::move(work)), waiting_(capacity) {
  threads_.reserve(static_cast<size_t>(num_threads));
  try {
    for (int slot = 0; slot < num_threads; ++slot) {
      threads_.push_back(
          start_thread(fmt::format("decoding thread {} of {}", slot + 1, num_threads),
                       [this, slot] { run(slot); }));
      // For top and perf; 15 characters at most.
      pthread_setname_np(threads_.back().native_handle(), "ffkit-decode");
    }
  } catch (...) {
    stop();
    throw;
  }
}

DecodePool::~DecodePool() {
  stop();
}

void DecodePool::stop() noexcept {
  {
    std::lock_guard lock(mutex_);
    num_waiting_ = 0;
    stop_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DecodePool::submit(std::span<const SampleChunk> chunks) {
  size_t num_to_wake = 0;
  {
    std::lock_guard lock(mutex_);
    for (const SampleChunk& chunk : chunks) {
      waiting_[(first_ + num_waiting_++) % waiting_.size()] = chunk;
    }
    num_to_wake = std::min(num_asleep_, num_waiting_);
  }
  for (size_t i = 0; i < num_to_wake; ++i) arrived_.notify_one();
}

void DecodePool::share(int slot, int64_t count, const Part& part) {
  SharedWork work{.part = &part, .count = count};
  std::unique_lock lock(mutex_);
  if (count > 1) {
    shared_.push_back(&work);
    const auto wanted = static_cast<size_t>(count - 1);
    for (size_t i = 0; i < std::min(num_asleep_, wanted); ++i) arrived_.notify_one();
  }
  while (work.num_begun < count) run_part(lock, slot, work);
  shared_done_.wait(lock, [&work] { return work.num_done == work.count; });
}

// Precondition: not all have begun.
void DecodePool::run_part(std::unique_lock<std::mutex>& lock, int slot, SharedWork& work) {
  const int64_t index = work.num_begun++;
  if (work.num_begun == work.count) std::erase(shared_, &work);
  lock.unlock();
  (*work.part)(slot, index);
  lock.lock();
  if (++work.num_done == work.count) shared_done_.notify_all();
}

bool DecodePool::cancel(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  num_waiting_ = 0;
  return idle_.wait_until(lock, until, [this] { return num_working_ == 0; });
}

void DecodePool::run(int slot) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++num_asleep_;
    arrived_.wait(lock, [this] { return stop_ || num_waiting_ > 0 || !shared_.empty(); });
    --num_asleep_;
    if (stop_) return;
    ++num_working_;
    while (num_waiting_ > 0 || !shared_.empty()) {
      if (num_waiting_ == 0) {
        run_part(lock, slot, *shared_.front());
        continue;
      }
      const SampleChunk chunk = waiting_[first_];
      first_ = (first_ + 1) % waiting_.size();
      --num_waiting_;
      lock.unlock();
      work_(slot, chunk);
      lock.lock();
    }
    if (--num_working_ == 0) idle_.notify_all();
  }
}

}  // namespace ffkit
