#include "merge/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <ffkit/format/error.h>

namespace ffkit {

namespace fs = std::filesystem;

FolderLocks::~FolderLocks() {
  for (const Lock& lock : locks_) ::close(lock.fd);
}

void FolderLocks::add(const fs::path& folder, Use use,
                      const std::function<void(const std::string&)>& note) {
  std::error_code unknown;
  const fs::path canonical = fs::canonical(folder, unknown);
  if (!unknown && std::ranges::find(locks_, canonical, &Lock::folder) != locks_.end()) return;
  locks_.reserve(locks_.size() + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    throw Error(errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                "cannot be opened; give a data set folder, or make one of several with merge",
                {.path = folder.string(), .errno_value = errno});
  }
  locks_.push_back({.folder = canonical, .fd = fd});
  if (::flock(fd, (use == Use::read ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    throw Error(ErrorCode::invalid_argument,
                use == Use::read
                    ? "another merge or append is changing this folder; wait for it"
                    : "another merge, append or v1 is using this folder, which this one would "
                      "change; wait for it",
                {.path = folder.string()});
  }
  if (note) {
    note(
        fmt::format("{}: cannot be locked ({}); see to it that no other merge or append changes "
                    "it meanwhile",
                    folder.string(), std::strerror(errno)));
  }
}

}  // namespace ffkit
