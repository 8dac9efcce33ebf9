// What the loader's threads share: how they start, how they wake each other, and where their
// warnings go.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace ffkit {

// A thread that runs `run`. `what` is its purpose, as in "the loader's I/O thread". Throws
// Error(io) where the system gives no more threads.
std::thread start_thread(std::string_view what, std::function<void()> run);

// One thread sleeps until others tell it to look again. A notify() before wait() is not
// lost. Thread-safe; one waiter.
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

// Where the loader's warnings go: LoaderOptions::on_warning, or spdlog's default logger.
using WarningSink = std::function<void(std::string_view)>;

// Makes spdlog's default logger where there is none yet, before the loader's threads do so at the
// same time.
void prepare_log(const WarningSink& sink);

// What `sink` throws is dropped: a message is not worth an epoch.
void warn(const WarningSink& sink, const std::string& message) noexcept;

}  // namespace ffkit
