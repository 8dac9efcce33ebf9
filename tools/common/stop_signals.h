// A tool that is told to stop ends its work in order: the signals only set a flag, which the work
// looks at.
#pragma once

#include <atomic>
#include <csignal>

namespace ffkit {

// What the handlers of signals set: they cannot be given anything else than a global.
inline std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// From now on SIGINT, SIGTERM and SIGHUP only set the flag; a second one of the same kind ends the
// process at once. A signal that is ignored stays so, as SIGHUP under nohup.
inline void catch_stop_signals() {
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

// Whether one came.
inline const std::atomic<bool>* stop_flag() {
  return &stop_requested;
}

}  // namespace ffkit
