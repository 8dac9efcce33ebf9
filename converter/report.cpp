#include "report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

namespace ffkit {

void SkipReport::add(const SkippedSample& sample) {
  if (!file_.is_open()) file_.open(path_, std::ios::trunc);
  const nlohmann::ordered_json line = {
      {"split", sample.split}, {"source", sample.source}, {"reason", sample.reason}};
  // File names need not be UTF-8, JSON must be.
  file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!file_) {
    throw Error(ErrorCode::io, "cannot be written", {.path = path_.string(), .errno_value = errno});
  }
}

void SkipReport::finish() {
  if (!file_.is_open()) return;
  file_.close();
  const int fd = file_ ? ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  const bool is_durable = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_durable) {
    throw Error(ErrorCode::io, "cannot be written", {.path = path_.string(), .errno_value = error});
  }
}

}  // namespace ffkit
