#include <atomic>
#include <csignal>

#include <ffkit/trainer/stop.h>

namespace ffkit {
namespace {

std::atomic<int> requested{0};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

int stop_signal() {
  return requested.load(std::memory_order_relaxed);
}

void request_stop(int signal) noexcept {
  requested.store(signal, std::memory_order_relaxed);
}

}  // namespace ffkit
