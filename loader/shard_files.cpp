#include "shard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <ffkit/format/error.h>

#include "memory_limit.h"

namespace ffkit {
namespace {

constexpr size_t kDefaultAlignment =
    4096;  // where the kernel cannot say (before Linux 6.1): a page always works

[[noreturn]] void throw_open_error(const std::filesystem::path& path, int error) {
  const char* message =
      error == EMFILE || error == ENFILE
          ? "cannot open the shard, too many open files; raise the limit (ulimit -n) "
            "or convert with larger shards"
          : "cannot open the shard for reading";
  throw Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::io, message,
              {.path = path.string(), .errno_value = error});
}

// The alignment that O_DIRECT needs on the open file, 0 when its file system does not take it.
size_t direct_alignment(int fd) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
      (info.stx_mask & STATX_DIOALIGN) != 0) {
    return std::max<size_t>(info.stx_dio_offset_align, info.stx_dio_mem_align);
  }
#endif
  return kDefaultAlignment;
}

// Some file systems take the flag when opening and refuse the reads (EINVAL).
bool direct_read_works(int fd, size_t alignment) {
  const auto aligned = std::align_val_t{alignment};
  void* buffer = ::operator new(alignment, aligned);
  ssize_t result = 0;
  do {
    result = pread(fd, buffer, alignment, 0);
  } while (result < 0 && errno == EINTR);
  ::operator delete(buffer, aligned);
  return result >= 0;
}

}  // namespace

bool wants_direct_io(DirectIo direct, int64_t data_bytes, int64_t memory) {
  return direct == DirectIo::on || (direct == DirectIo::automatic && data_bytes > memory / 2);
}

ShardFiles::ShardFiles(std::vector<std::filesystem::path> paths, int64_t data_bytes,
                       DirectIo direct)
    : paths_(std::move(paths)) {
  descriptors_.reserve(paths_.size());
  try {
    if (wants_direct_io(direct, data_bytes, usable_memory_bytes())) {
      direct_ = open_direct();
      if (!direct_ && direct == DirectIo::on) {
        throw Error(ErrorCode::unsupported,
                    "direct I/O was asked for, but this file system does not take O_DIRECT; "
                    "leave it automatic or off",
                    {.path = paths_[descriptors_.size()].string()});
      }
    }
    if (!direct_) open_buffered();
  } catch (...) {
    close_all();
    throw;
  }
}

ShardFiles::~ShardFiles() {
  close_all();
}

// False when a file refuses; descriptors_ then holds those before it.
bool ShardFiles::open_direct() {
  size_t alignment = 1;
  for (const auto& path : paths_) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (fd < 0) {
      if (errno == EINVAL) return false;
      throw_open_error(path, errno);
    }
    const size_t needed = direct_alignment(fd);
    if (needed == 0 || !direct_read_works(fd, needed)) {
      close(fd);
      return false;
    }
    alignment = std::max(alignment, needed);
    descriptors_.push_back(fd);
  }
  alignment_ = alignment;
  return true;
}

void ShardFiles::open_buffered() {
  close_all();
  for (const auto& path : paths_) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw_open_error(path, errno);
    descriptors_.push_back(fd);
  }
}

void ShardFiles::close_all() noexcept {
  for (int fd : descriptors_) close(fd);
  descriptors_.clear();
}

}  // namespace ffkit
