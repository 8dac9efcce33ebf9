// start_thread: a thread of the loader, or an Error where the system gives no more of them.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {

// `what` is the thread's purpose, as in "the loader's I/O thread". Throws Error(io).
template <typename Function>
std::thread start_thread(std::string_view what, Function&& run) {
  try {
    return std::thread(std::forward<Function>(run));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io,
                fmt::format("{} cannot be started, the system gives no more threads; use fewer "
                            "(num_threads) or raise the limit (ulimit -u, or pids.max of the "
                            "container)",
                            what),
                {.errno_value = error.code().value()});
  }
}

}  // namespace ffkit
