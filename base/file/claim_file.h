// ClaimFile: keeps others away from a folder on file systems without locks, as Lustre mounted
// without flock, some NFS and some FUSE are. A file in the folder names the host and the process
// that use it.
//
//   .ffkit-in-use-1            who changes the folder; made by O_EXCL, so that one process
//                              alone can make it
//   .ffkit-in-use-2            the next one: it found -1 of a process that is dead, made
//                              this one, and removed -1
//   .ffkit-in-use-by-h-12-0    who reads from it: as many as there are
//
// Each makes its file first and looks for others' then, so of two that begin together at most one
// goes on. The file of a process that was killed stays: on the same machine the next one knows that
// it is dead and takes over; on another machine the user has to say so by removing the file.
#pragma once

#include <filesystem>
#include <string>

#include "file_lock.h"

namespace ffkit {

class ClaimFile {
 public:
  ClaimFile() = default;
  ClaimFile(ClaimFile&& other) noexcept;
  ClaimFile& operator=(ClaimFile&& other) noexcept;
  ~ClaimFile() { release(); }

  // Who uses the folder otherwise.
  struct User {
    // "process 4711 on node17 (its file is /fast/set/.ffkit-in-use-1)"; empty: nobody.
    std::string words;
    bool is_here = false;  // on this machine, and alive
    bool is_anybody() const { return !words.empty(); }
  };

  // Makes the file in `folder`, unless somebody else uses the folder, who is returned then. `mode`:
  // shared for those who read. Throws Error(io) when the file cannot be made. Files of dead
  // processes of this machine are removed.
  [[nodiscard]] User claim(const std::filesystem::path& folder, FileLock::Mode mode);
  // Removes the file. Does nothing when there is none.
  void release() noexcept;
  bool is_held() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }

  // Who has a file in `folder` that keeps `mode` away, other than this process's `own`.
  static User user_of(const std::filesystem::path& folder, FileLock::Mode mode,
                      const std::filesystem::path& own = {});
  // Whether a file's name is that of a claim.
  static bool is_claim(const std::filesystem::path& file);

 private:
  std::filesystem::path path_;
};

// For messages. The user's words, or `otherwise` where they are not known.
std::string in_use_by(const ClaimFile::User& user, const char* otherwise);
// ", or remove that file when the process is gone" where the user is not known to be alive; else
// empty.
const char* remedy_for(const ClaimFile::User& user);

// A folder that is held by a lock, or where the file system has none by a file.
struct FolderHold {
  bool is_taken = false;
  ClaimFile::User user;  // who has it, when it is not taken and that is known
  std::string note;      // a sentence without the folder, where there are no locks
};

// Holds `folder` by `lock`, which has it or a file in it open, and by `claim` where there are no
// locks. A file of others counts on file systems with locks as well, which other machines may have
// mounted without. Does not wait. Throws Error(io) when there is neither lock nor file; under
// `shared` it is taken then, with a note, since one may read from a folder that one cannot write
// to.
[[nodiscard]] FolderHold hold_folder(const std::filesystem::path& folder, FileLock::Mode mode,
                                     FileLock& lock, ClaimFile& claim);

}  // namespace ffkit
