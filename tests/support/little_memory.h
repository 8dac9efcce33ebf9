// For child processes: memory that runs out.
#pragma once

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>

#include "child_process.h"

// Sanitizers reserve more addresses than any limit allows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FFKIT_SKIP_WITHOUT_MEMORY_LIMITS() GTEST_SKIP() << "sanitizers take no RLIMIT_AS"
#else
#define FFKIT_SKIP_WITHOUT_MEMORY_LIMITS() static_cast<void>(0)
#endif

namespace ffkit::testing {

// From now on this process gets no more than `num_bytes` in addition to the addresses that it has.
inline void leave_memory(int64_t num_bytes) {
  int64_t num_pages = 0;
  FILE* statm = fopen("/proc/self/statm", "r");  // proc(5): the first number is the size in pages
  expect(statm != nullptr && fscanf(statm, "%ld", &num_pages) == 1, "statm is read");
  fclose(statm);
  const auto limit = static_cast<rlim_t>(num_pages * sysconf(_SC_PAGESIZE) + num_bytes);
  const rlimit limits{limit, limit};
  expect(setrlimit(RLIMIT_AS, &limits) == 0, "setrlimit");
}

}  // namespace ffkit::testing
