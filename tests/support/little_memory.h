// For child processes: memory that runs out.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include <ffkit/base/error.h>

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

// Calls `call` in a child process that gets no more than `num_bytes`: it must throw an Error(io)
// whose message matches `regex`. The child is this test run anew: a fork would have what earlier
// tests gave back to malloc.
inline void expect_error_without_memory(int64_t num_bytes, const char* regex,
                                        const std::function<void()>& call) {
  const auto child = [&] {
    leave_memory(num_bytes);
    try {
      call();
    } catch (const Error& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(error.code() == ErrorCode::io ? 0 : 1);
    } catch (const std::exception& error) {
      expect(false, error.what());
    }
    _exit(2);
  };
  const std::string style = GTEST_FLAG_GET(death_test_style);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), regex);
  GTEST_FLAG_SET(death_test_style, style);
}

}  // namespace ffkit::testing
