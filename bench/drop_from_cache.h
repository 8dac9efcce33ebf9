// Makes the next read of a file a cold one.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

// Drops `file` from the page cache, as far as the kernel follows; what cannot be opened is passed
// over.
inline void drop_from_cache(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(::fsync(fd));
  static_cast<void>(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
  ::close(fd);
}
