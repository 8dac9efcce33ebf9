// CacheThreads: what the cache does beside its readers: writing blocks, and looking what other
// processes have done. Started when they are needed. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ffkit {

class CacheThreads {
 public:
  CacheThreads() : queue_(std::make_shared<Queue>()) {}
  // What has not begun is dropped. May be called by one of the threads, as the last that holds
  // this.
  ~CacheThreads();
  CacheThreads(const CacheThreads&) = delete;
  CacheThreads& operator=(const CacheThreads&) = delete;

  // Calls `work` in a thread; it must not throw.
  void post(std::function<void()> work);
  // The same after a moment.
  void post_later(std::function<void()> work);

 private:
  using Clock = std::chrono::steady_clock;

  // Outlives this in a thread that destroys it.
  struct Queue {
    std::mutex mutex;  // guards what follows
    std::condition_variable changed;
    bool is_stopping = false;
    std::deque<std::function<void()>> work;
    std::multimap<Clock::time_point, std::function<void()>> later;
  };

  static void run(Queue& queue);
  void start();

  const std::shared_ptr<Queue> queue_;
  std::vector<std::thread> threads_;  // under the queue's mutex
};

}  // namespace ffkit
