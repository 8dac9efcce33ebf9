// PerProcess: what each process makes for itself, because threads, locks and connections of a
// process are not there in a child of fork(). Thread-safe, also in a child that was forked while
// other threads were in here: nothing is locked.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace ffkit {

template <typename T>
class PerProcess {
 public:
  // Makes what this process has; `before` is what the process has that this one was forked from,
  // or null. Of that, nothing may be waited for: whoever has locked it is not here.
  using Make = std::function<std::unique_ptr<T>(const T* before)>;

  // Makes the first one now.
  explicit PerProcess(Make make) : make_(std::move(make)) {
    last_ = new Entry(::getpid(), make_(nullptr));
  }
  // What the processes before had stays as it is: threads of theirs may have been using it.
  ~PerProcess() {
    Entry* last = last_.load();
    if (last->process == ::getpid()) delete last;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  // Throws what `make` throws.
  T& get() const {
    Entry* found = last_.load(std::memory_order_acquire);
    const pid_t process = ::getpid();
    while (found->process != process) {
      auto fresh = std::make_unique<Entry>(process, make_(found->made.get()));
      if (last_.compare_exchange_strong(found, fresh.get())) return *fresh.release()->made;
    }
    return *found->made;
  }

 private:
  struct Entry {
    Entry(pid_t of, std::unique_ptr<T> what) : process(of), made(std::move(what)) {}
    pid_t process;
    std::unique_ptr<T> made;
  };

  const Make make_;
  mutable std::atomic<Entry*> last_{nullptr};
};

}  // namespace ffkit
