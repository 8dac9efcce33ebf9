// parallel_io: a loop whose iterations wait for the disk rather than compute.
#pragma once

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <vector>

#include "converter/input/thread_limit.h"

namespace ffkit {

// Calls body(0) .. body(count-1) from up to 96 threads, as far as they can be started, whatever the
// number of processors: small reads from a cold disk or a network file system wait about 0.1 ms
// each. `body` must not throw.
template <typename Body>
void parallel_io(size_t count, const Body& body) {
  constexpr size_t kThreads = 96;
  const auto num_threads = static_cast<size_t>(
      num_startable_threads(static_cast<int>(std::clamp<size_t>(count, 1, kThreads))));
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism, num_threads);
  tbb::task_arena arena(static_cast<int>(num_threads));
  arena.execute([&] { tbb::parallel_for(size_t{0}, count, body); });
}

// The same for a `body` that may throw: it is called with each number all the same, and then what
// it threw for the first of them is thrown.
template <typename Body>
void parallel_io_that_throws(size_t count, const Body& body) {
  std::vector<std::exception_ptr> errors(count);
  parallel_io(count, [&](size_t i) {
    try {
      body(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace ffkit
