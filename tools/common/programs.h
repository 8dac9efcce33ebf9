// The programs as functions, and how they stop: a wheel has them in one file.
#pragma once

#include <fmt/format.h>
#include <stdio.h>

#include <atomic>
#include <csignal>
#include <span>
#include <string_view>

#include "base/machine/wait_check.h"

namespace ffkit {

// As main() of the program that each is named after. Other programs may add tasks of their own and
// call run_fftrain(), which knows every task of the TaskRegistry.
int run_ffconvert(int argc, char** argv);
int run_ffeval(int argc, char** argv);
int run_ffinspect(int argc, char** argv);
int run_fftrain(int argc, char** argv);
int run_ffgenerate(int argc, char** argv);

struct Program {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

// The program that the file is called by, or status 2 and a sentence.
inline int run_by_name(std::span<const Program> programs, int argc, char** argv) {
  std::string_view name = argc > 0 ? argv[0] : "";
  name.remove_prefix(name.rfind('/') + 1);
  for (const Program& program : programs) {
    if (name == program.name) return program.run(argc, argv);
  }
  fmt::print(stderr, "'{}' is not a program of ffkit; the programs are", name);
  for (size_t i = 0; i < programs.size(); ++i) {
    const char* before = i == 0 ? " " : i + 1 < programs.size() ? ", " : " and ";
    fmt::print(stderr, "{}{}", before, programs[i].name);
  }
  fmt::print(stderr, "\n");
  return 2;
}

// A tool that is told to stop ends its work in order: the signals only set a flag, which the work
// looks at.

// What the handlers of signals set: they cannot be given anything else than a global.
inline std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// From now on SIGINT, SIGTERM and SIGHUP only set the flag; a second one of the same kind ends the
// process at once. A wait for a store ends. A signal that is ignored stays so, as SIGHUP under
// nohup.
inline void catch_stop_signals() {
  static const WaitCheck check(ends_waits_once([] { return stop_requested.load(); }));
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
