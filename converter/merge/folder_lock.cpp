#include "merge/folder_lock.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/file/file.h"
#include "base/make_error.h"

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
                "the folder cannot be opened",
                {.path = folder.string(),
                 .errno_value = errno,
                 .remedy = "give the folder of a data set, or join several data sets with merge"});
  }
  ClaimFile claim;
  const FolderHold hold = hold_folder(
      folder, use == Use::read ? FileLock::Mode::shared : FileLock::Mode::exclusive, lock, claim);
  if (hold.is_taken) {
    locks_.push_back({.folder = canonical, .lock = std::move(lock), .claim = std::move(claim)});
    if (note && !hold.note.empty()) note(fmt::format("{}: {}", folder.string(), hold.note));
    return;
  }
  throw error_at(
      folder, ErrorCode::invalid_argument,
      use == Use::read
          ? fmt::format("{} is changing this folder; wait for it{}",
                        in_use_by(hold.user, "another 'ffconvert merge' or 'append'"),
                        remedy_for(hold.user))
          : fmt::format(
                "{} is using this folder, and this command would change the folder; wait for it{}",
                in_use_by(hold.user, "another 'ffconvert merge', 'append' or 'v1'"),
                remedy_for(hold.user)));
}

}  // namespace ffkit
