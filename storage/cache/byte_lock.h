// Locks on bytes of a file that belong to the open file, not to the process: they end when it is
// closed, and with a process that is killed.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstdint>

namespace ffkit {

// `type` is F_RDLCK, F_WRLCK or F_UNLCK; `num_bytes` 0: all from `offset` on, which need not be
// there. False: somebody else has the bytes; or, of one that waits, errno says what is wrong.
inline bool lock_bytes(int fd, int64_t offset, int64_t num_bytes, short type, bool wait) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = num_bytes;
  int result = 0;
  do {
    result = ::fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace ffkit
