#include "input/thread_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

namespace ffkit {

int num_startable_threads(int num_threads) {
  // Threads that TBB has by now were found to be startable, and would be counted twice.
  static std::atomic<int> most_found{0};
  if (num_threads <= most_found) return num_threads;
  std::latch all_are_started(1);
  std::vector<std::jthread> threads;
  try {
    threads.reserve(static_cast<size_t>(num_threads));
    for (int i = 0; i < num_threads; ++i) threads.emplace_back([&] { all_are_started.wait(); });
  } catch (const std::system_error&) {
    // As many as there are.
  }
  const auto num_started = static_cast<int>(threads.size());
  all_are_started.count_down();
  threads.clear();
  int before = most_found;
  while (before < num_started && !most_found.compare_exchange_weak(before, num_started)) continue;
  return std::max(num_started, 1);
}

void require_threads(int num_threads) {
  const int num_startable = num_startable_threads(num_threads);
  if (num_startable >= num_threads) return;
  throw Error(ErrorCode::io,
              fmt::format("{} threads are needed, but the system allows only {}; raise the "
                          "limit on processes (ulimit -u, or of the container) or on memory "
                          "(ulimit -v), or give fewer {}",
                          num_threads, num_startable, option_name("num_threads")),
              {.errno_value = EAGAIN});
}

}  // namespace ffkit
