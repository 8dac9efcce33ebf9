// FetchQueue: how many runs of blocks are underway at a time, each of which takes its size in
// memory. It begins with two, and is one more after each run that came: what the first batch waits
// for are records, which shall have the link until blocks come as fast as they are needed.
// Thread-safe.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "cache/cache_threads.h"

namespace ffkit {

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
