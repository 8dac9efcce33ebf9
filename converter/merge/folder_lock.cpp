#include "merge/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <ffkit/format/error.h>

#include "format/file/file.h"

namespace ffkit {

namespace fs = std::filesystem;

void FolderLocks::add(const fs::path& folder, Use use,
                      const std::function<void(const std::string&)>& note) {
  std::error_code unknown;
  const fs::path canonical = fs::canonical(folder, unknown);
  if (!unknown && std::ranges::find(locks_, canonical, &Lock::folder) != locks_.end()) return;
  FileLock lock(open_descriptor(folder, O_RDONLY | O_DIRECTORY));
  if (!lock.is_open()) {
    throw Error(errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                "cannot be opened; give a data set folder, or make one of several with merge",
                {.path = folder.string(), .errno_value = errno});
  }
  const int problem =
      lock.try_lock(use == Use::read ? FileLock::Mode::shared : FileLock::Mode::exclusive);
  locks_.push_back({.folder = canonical, .lock = std::move(lock)});
  if (problem == 0) return;
  if (problem == EWOULDBLOCK) {
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
                    folder.string(), std::strerror(problem)));
  }
}

}  // namespace ffkit
