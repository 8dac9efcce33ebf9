#include "threads/loader_log.h"

#include <spdlog/spdlog.h>

namespace ffkit {

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
