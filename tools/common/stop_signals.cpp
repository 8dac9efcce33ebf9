#include "tools/common/stop_signals.h"

#include <csignal>

namespace ffkit {
namespace {

// Signal handlers cannot be given anything else than a global.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    const bool is_ignored = sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN;
    if (!is_ignored) sigaction(signal, &action, nullptr);
  }
}

const std::atomic<bool>* stop_flag() {
  return &stop_requested;
}

}  // namespace ffkit
