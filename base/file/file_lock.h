// Who uses a file or a folder: locks, files that stand for them where a file system has none, and
// the processes that made these.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ffkit {

// The process that uses a folder, as a few lines of text say it, and whether it still runs. The
// boot, the space of process numbers and the time at which the process began tell a process that is
// dead from another one that got its number.
struct Claimant {
  std::string host;
  int64_t pid = 0;
  std::string boot;
  std::string pid_space;
  std::string begin;
};

Claimant this_process();
// "host node17\npid 4711\n..."
std::string to_text(const Claimant& claimant);
// Takes any text. Members that it does not name stay empty.
Claimant parse_claimant(std::string_view text);

// Whether a process of this machine runs. One that has ended stays listed until its parent asks for
// its status (a zombie), for good if that never asks.
bool is_running(int64_t pid);

enum class ClaimantState {
  dead,
  alive,    // on this machine
  unknown,  // on another machine or in another container, or nothing is known of it
};
ClaimantState state_of(const Claimant& claimant, const Claimant& here);

// All of a small file that may be of /proc, which has no sizes; empty when it cannot be read.
std::string small_file(const std::filesystem::path& path);

// Whether `path`, and no symbolic link there, is what `fd` has open. What is locked may have been
// removed or replaced by whoever had the lock before.
bool is_open_file_at(const std::filesystem::path& path, int fd);

// Locks bytes of a file for whoever has it open, not for the process: until it is closed, or the
// process is killed. `type` is F_RDLCK, F_WRLCK or F_UNLCK; `num_bytes` 0: all from `offset` on,
// which need not be there. False: somebody else has the bytes; or, of one that waits, errno says
// what is wrong.
bool lock_bytes(int fd, int64_t offset, int64_t num_bytes, short type, bool wait);

// A file or folder that is open, and locked by flock(2) against other processes and other
// FileLocks, until it is closed. The system frees the lock of a process that was killed, and
// nothing has to be made or cleared away for it. The owner chooses how to open it and what to say
// to the user. Not thread-safe.
class FileLock {
 public:
  enum class Mode {
    shared,     // others may have it so too
    exclusive,  // nobody else has it
  };

  // Takes over an open descriptor, or none (-1), without a lock so far.
  explicit FileLock(int fd = -1) : fd_(fd) {}
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock() { close(); }

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }  // -1: none

  // Takes the lock, without waiting for it. Returns 0, EWOULDBLOCK when it is another's, or the
  // errno of a file system without locks. The descriptor stays open in any case.
  [[nodiscard]] int try_lock(Mode mode);
  // Frees the lock. Does nothing when there is none.
  void close() noexcept;

 private:
  int fd_;
};

// Keeps others away from a folder on file systems without locks, as Lustre mounted
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
