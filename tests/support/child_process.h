// Expectations in child processes, where GoogleTest's would be lost.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

// For a test that calls fork() while other threads run, which the sanitizers do not bear.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FFKIT_SKIP_FORK_BESIDE_THREADS()                                                        \
  GTEST_SKIP() << "a child inherits the locks of ASan's allocator as fork(2) found them; TSan " \
                  "lets it start no threads"
#else
#define FFKIT_SKIP_FORK_BESIDE_THREADS() static_cast<void>(0)
#endif

namespace ffkit::testing {

// Ends the process with status 1, saying what does not hold.
inline void expect(bool condition, const std::string& what) {
  if (condition) return;
  fprintf(stderr, "failed: %s\n", what.c_str());
  _exit(1);
}

// From now on this process gets no more threads. The limit does not hold for root, who becomes
// another user.
inline void allow_no_more_threads() {
  const rlimit none{0, 0};
  expect(setrlimit(RLIMIT_NPROC, &none) == 0, "setrlimit");
  if (getuid() == 0) expect(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
  alarm(300);  // for what hangs
}

}  // namespace ffkit::testing
