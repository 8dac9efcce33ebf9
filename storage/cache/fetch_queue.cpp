#include "cache/fetch_queue.h"

#include <utility>

#include "base/machine/signals_blocked.h"

namespace ffkit {
namespace {

// What is written takes little of a core: a checksum and a copy to the page cache.
constexpr int kNumCacheThreads = 2;
constexpr auto kMoment = std::chrono::milliseconds(5);

}  // namespace

CacheThreads::~CacheThreads() {
  {
    const std::scoped_lock lock(queue_->mutex);
    queue_->is_stopping = true;
  }
  queue_->changed.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();  // it ends when it returns from here
    } else {
      thread.join();
    }
  }
}

void CacheThreads::start() {
  if (!threads_.empty()) return;
  const SignalsBlocked blocked;
  for (int i = 0; i < kNumCacheThreads; ++i) {
    threads_.emplace_back([queue = queue_] { run(*queue); });
  }
}

void CacheThreads::post(std::function<void()> work) {
  const std::scoped_lock lock(queue_->mutex);
  start();
  queue_->work.push_back(std::move(work));
  queue_->changed.notify_one();
}

void CacheThreads::post_later(std::function<void()> work) {
  const std::scoped_lock lock(queue_->mutex);
  start();
  queue_->later.emplace(Clock::now() + kMoment, std::move(work));
  queue_->changed.notify_one();
}

void CacheThreads::run(Queue& queue) {
  std::unique_lock lock(queue.mutex);
  while (!queue.is_stopping) {
    std::function<void()> work;
    if (!queue.work.empty()) {
      work = std::move(queue.work.front());
      queue.work.pop_front();
    } else if (!queue.later.empty() && queue.later.begin()->first <= Clock::now()) {
      work = std::move(queue.later.begin()->second);
      queue.later.erase(queue.later.begin());
    } else if (!queue.later.empty()) {
      const Clock::time_point next = queue.later.begin()->first;
      queue.changed.wait_until(lock, next);
      continue;
    } else {
      queue.changed.wait(lock);
      continue;
    }
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace ffkit
