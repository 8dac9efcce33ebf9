// Event: one thread sleeps until others tell it to look again. A notify() before wait() is not
// lost. Thread-safe; one waiter.
#pragma once

#include <condition_variable>
#include <mutex>

namespace ffkit {

class Event {
 public:
  void notify() {
    // Notifying under the lock lets the waiter destroy the event as soon as it has seen what it
    // waited for.
    std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_one();
  }

  // Blocks until notify() has been called since the last wait() returned.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
    is_set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace ffkit
