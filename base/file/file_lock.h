// FileLock: a file or folder that is open, and locked by flock(2) against other processes and other
// FileLocks, until it is closed. The system frees the lock of a process that was killed, and
// nothing has to be made or cleared away for it.
//
// The owner chooses how to open it and what to say to the user. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ffkit {

// Whether `path`, and no symbolic link there, is what `fd` has open.
bool is_open_file_at(const std::filesystem::path& path, int fd);

// Locks bytes of a file for whoever has it open, not for the process: until it is closed, or the
// process is killed. `type` is F_RDLCK, F_WRLCK or F_UNLCK; `num_bytes` 0: all from `offset` on,
// which need not be there. False: somebody else has the bytes; or, of one that waits, errno says
// what is wrong.
bool lock_bytes(int fd, int64_t offset, int64_t num_bytes, short type, bool wait);

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
  // Whether `path`, and no symbolic link there, still is what is locked: whoever had the lock
  // before may have removed or replaced it.
  bool is_still_at(const std::filesystem::path& path) const;
  // Frees the lock. Does nothing when there is none.
  void close() noexcept;

 private:
  int fd_;
};

}  // namespace ffkit
