#include <fmt/format.h>
#include <semaphore.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/launch/stop.h>

#include "base/machine/signals_blocked.h"
#include "base/machine/wait_check.h"
#include "waiting.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<int> requested{0};
static_assert(std::atomic<int>::is_always_lock_free);
sem_t asked;  // posted by each request while there is a thread that looks after waits
std::atomic<bool> has_thread{false};

struct WatchedWait {
  const Waiting* owner;
  const char* what;
  Clock::time_point start;
  Clock::duration patience;
};

// The waits of all threads. Never destroyed: threads may outlive main().
struct Waits {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<WatchedWait> all;
};
Waits& waits() {
  static auto* const waits = new Waits;
  return *waits;
}

constexpr EnumName<int> kSignalNames[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},
                                          {SIGHUP, "SIGHUP"},   {SIGUSR1, "SIGUSR1"},
                                          {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}};

// Ends the program when something has been waited for long enough since a request.
class WaitWatcher {
 public:
  WaitWatcher() {
    sem_init(&asked, 0, 0);
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    has_thread.store(true);
  }
  ~WaitWatcher() {
    {
      std::lock_guard lock(waits().mutex);
      is_over_ = true;
    }
    waits().changed.notify_all();
    sem_post(&asked);
    thread_.join();
    has_thread.store(false);
  }

 private:
  void run() {
    std::unique_lock lock(waits().mutex);
    while (!is_over_) {
      lock.unlock();
      while (sem_wait(&asked) != 0) {  // EINTR
      }
      const Clock::time_point asked_at = Clock::now();
      lock.lock();
      while (!is_over_ && stop_signal() != 0) {
        std::optional<Clock::time_point> next;
        for (const WatchedWait& wait : waits().all) {
          const Clock::time_point end = std::max(asked_at, wait.start) + wait.patience;
          if (Clock::now() >= end) leave(wait.what);
          next = next ? std::min(*next, end) : end;
        }
        if (next) {
          waits().changed.wait_until(lock, *next);
        } else {
          waits().changed.wait(lock);
        }
      }
    }
  }

  [[noreturn]] static void leave(const char* what) {
    const int signal = stop_signal();
    fmt::print(stderr, "{}: stopped by {} while it was {}\n", program_invocation_short_name,
               name_of(kSignalNames, signal), what);
    std::_Exit(stop_exit_status(signal));
  }

  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace

Waiting::Waiting(const char* what, std::chrono::duration<double> patience) {
  {
    std::lock_guard lock(waits().mutex);
    waits().all.push_back(
        {this, what, Clock::now(), std::chrono::duration_cast<Clock::duration>(patience)});
  }
  waits().changed.notify_all();
}

Waiting::~Waiting() {
  std::lock_guard lock(waits().mutex);
  std::erase_if(waits().all, [this](const WatchedWait& wait) { return wait.owner == this; });
}

void stop_on_signals() {
  static const WaitWatcher watcher;
  static const WaitCheck check(ends_waits_once([] { return stop_signal() != 0; }));
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    const bool is_known = sigaction(signal, nullptr, &before) == 0;
    if (signal == SIGHUP && is_known && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESTART;
    if (signal == SIGINT) action.sa_flags |= static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

int stop_signal() {
  return requested.load(std::memory_order_relaxed);
}

int stop_exit_status(int signal) {
  return signal == SIGINT ? 128 + SIGINT : kExitStopped;
}

void request_stop(int signal) noexcept {
  requested.store(signal, std::memory_order_relaxed);
  if (signal == 0 || !has_thread.load(std::memory_order_relaxed)) return;
  const int before = errno;
  sem_post(&asked);
  errno = before;
}

}  // namespace ffkit
