// Waiting: says that this thread may wait for something that never comes. A program that called
// stop_on_signals() and is asked to stop is ended when the wait lasts longer than its patience from
// then on. Thread-safe; nested waits count each for itself.
#pragma once

#include <array>
#include <chrono>
#include <csignal>

namespace ffkit {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What schedulers and terminals ask a program with to stop. SIGUSR2 comes from submitit, LSF and
// SGE, SIGXCPU from SGE and a limit on the processor's time.
inline constexpr std::array kStopSignals = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

class Waiting {
 public:
  // For a wait that may go on and then leave a checkpoint. Less than the 30 s that schedulers give
  // between SIGTERM and SIGKILL.
  static constexpr std::chrono::seconds kPatience{20};
  // For a wait without work that could be lost.
  static constexpr std::chrono::seconds kNothingToLose{0};

  // `what` completes "stopped by SIGTERM while it was ..."; it lives longer than this.
  Waiting(const char* what, std::chrono::duration<double> patience);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

}  // namespace ffkit
