#include "export/new_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "base/file/claim_file.h"
#include "base/file/file.h"
#include "base/file/file_lock.h"
#include "base/make_error.h"
#include "text/output.h"
#include "tools/common/stop_signals.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".ffinspect-export";

[[noreturn]] void refuse(const fs::path& destination, const std::string& message) {
  throw error_at(destination, ErrorCode::invalid_argument, message);
}

[[noreturn]] void fail_tree(const fs::path& path, const char* message, int error) {
  throw io_error_at(path, message, error);
}

// A folder that is this process's as long as the object lives; the system frees that of a process
// that was killed.
class OwnFolder {
 public:
  OwnFolder(const fs::path& path, const fs::path& destination) {
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
      fail_tree(destination, "cannot create the folder", errno);
    }
    lock_ = FileLock(open_descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (!lock_.is_open()) fail_tree(path, "cannot open the folder", errno);
    // It is not still there when its owner was done with it before it was locked here.
    const FolderHold hold = hold_folder(path, FileLock::Mode::exclusive, lock_, claim_);
    if (!hold.is_taken || !lock_.is_still_at(path)) {
      refuse(destination,
             fmt::format("is being exported to by {}; give a new folder{}",
                         in_use_by(hold.user, "another process"), remedy_for(hold.user)));
    }
  }
  // The folder gets its final name next: what stands for a lock must not come along.
  void take_claim_away() { claim_.release(); }

 private:
  FileLock lock_;
  ClaimFile claim_;
};

void remove_content(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (ClaimFile::is_claim(entry.path())) continue;
    fs::remove_all(entry.path(), ignored);
  }
}

// Whether there is nothing in it but what an export has not finished.
bool has_room(const fs::path& destination) {
  for (const auto& entry : fs::directory_iterator(destination)) {
    if (entry.path().filename() != kUnfinished) return false;
  }
  return true;
}

void require_room(const fs::path& destination) {
  if (has_room(destination)) return;
  refuse(destination, "is not empty, and nothing is overwritten; give a new folder to export to");
}

void move_up(const fs::path& folder, const fs::path& destination) {
  require_room(destination);
  for (const auto& entry : fs::directory_iterator(folder)) {
    fs::rename(entry.path(), destination / entry.path().filename());
  }
  fs::remove(folder);
}

// Renaming onto a folder that is not empty fails, whoever filled it.
void take_name(const fs::path& folder, const fs::path& destination) {
  if (rename(folder.c_str(), destination.c_str()) == 0) return;
  const int error = errno;
  if (error == ENOTEMPTY || error == EEXIST) require_room(destination);
  fail_tree(destination, "cannot give the finished export this name", error);
}

}  // namespace

void make_tree(const fs::path& destination, const std::function<void(const fs::path&)>& fill) {
  // Without the slash at its end that "OUT/" has.
  const fs::path out = destination.has_filename() ? destination : destination.parent_path();
  refuse_dangling_destination(out);
  std::error_code error;
  const auto status = fs::status(out, error);
  const bool exists = fs::exists(status);
  if (exists && !fs::is_directory(status)) {
    refuse(out, "is not a folder; give a new one to export to");
  }
  if (exists) require_room(out);
  fs::path unfinished = out;
  if (exists) {
    unfinished /= kUnfinished;
  } else {
    unfinished += kUnfinished;
    if (out.has_parent_path()) make_folder(out.parent_path());
  }
  OwnFolder own(unfinished, out);
  remove_content(unfinished);
  try {
    fill(unfinished);
    throw_if_stopped();
    own.take_claim_away();
    if (exists) {
      move_up(unfinished, out);
    } else {
      take_name(unfinished, out);
    }
  } catch (...) {
    fs::remove_all(unfinished, error);
    throw;
  }
}

void throw_if_stopped() {
  if (!*stop_flag()) return;
  throw Error(ErrorCode::cancelled, "stopped by a signal; what was exported is removed");
}

}  // namespace ffkit
