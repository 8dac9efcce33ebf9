#include "threads/threads.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <system_error>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {

std::thread start_thread(std::string_view what, std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io,
                fmt::format("{} cannot be started, because the system gives no more threads; use "
                            "fewer threads (num_threads) or raise the limit (ulimit -u, or "
                            "pids.max of the container)",
                            what),
                {.errno_value = error.code().value()});
  }
}

void prepare_log(const WarningSink& sink) {
  if (sink == nullptr) static_cast<void>(spdlog::default_logger_raw());
}

void warn(const WarningSink& sink, const std::string& message) noexcept {
  try {
    if (sink != nullptr) {
      sink(message);
    } else {
      spdlog::warn("{}", message);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): see the header
  }
}

}  // namespace ffkit
