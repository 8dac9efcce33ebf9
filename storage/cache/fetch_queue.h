// What the cache does beside its readers: its threads, and what is fetched at a time. Thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace ffkit {

// Threads that write blocks and look what other processes have done. Started when they are needed.
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

// FetchQueue: how many runs of blocks are underway at a time, each of which takes its size in
// memory. It begins with two, and is one more after each run that came: what the first batch waits
// for are records, which shall have the link until blocks come as fast as they are needed.
class FetchQueue {
 public:
  static constexpr int kMostUnderway = 16;
  static constexpr int kUnderwayAtFirst = 2;

  // `threads` must outlive this.
  FetchQueue(CacheThreads& threads, int at_first) : threads_(threads), most_underway_(at_first) {}

  // False: enough are underway.
  bool begin() {
    const std::scoped_lock lock(mutex_);
    if (num_underway_ >= most_underway_) return false;
    ++num_underway_;
    return true;
  }
  enum class Turn { now, later, never };
  // As begin(), and where enough are underway calls `work` in one of the threads when it has begun,
  // in the order of these calls: it calls end(). Turn::never, and it is dropped, while many wait.
  Turn begin_or_wait(std::function<void()> work) {
    constexpr size_t kMostWaiting = 4096;  // two windows of 2,048 runs
    const std::scoped_lock lock(mutex_);
    if (num_underway_ < most_underway_) {
      ++num_underway_;
      return Turn::now;
    }
    if (waiting_.size() >= kMostWaiting) return Turn::never;
    waiting_.push_back(std::move(work));
    return Turn::later;
  }
  void end(bool has_come) {
    const std::scoped_lock lock(mutex_);
    --num_underway_;
    if (has_come) most_underway_ = std::min(most_underway_ + 1, kMostUnderway);
    while (num_underway_ < most_underway_ && !waiting_.empty()) {
      ++num_underway_;
      threads_.post(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }

 private:
  CacheThreads& threads_;
  std::mutex mutex_;  // guards what follows
  int num_underway_ = 0;
  int most_underway_;
  std::deque<std::function<void()>> waiting_;
};

}  // namespace ffkit
