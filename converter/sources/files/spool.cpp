#include "sources/files/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// -1 with errno.
int open_without_name(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Some file systems (NFS, overlays) have no such files.
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = (folder / ".ffkit-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

fs::path nearest_folder(fs::path folder) {
  if (folder.empty()) return {};
  folder = fs::absolute(folder);
  std::error_code ignored;
  while (!fs::is_directory(folder, ignored) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

}  // namespace

Spool::Spool(const fs::path& folder) : folder_(nearest_folder(folder)) {
  if (!folder_.empty()) fd_ = open_without_name(folder_);
  if (fd_ >= 0) return;
  std::error_code ignored;
  folder_ = fs::temp_directory_path(ignored);
  if (folder_.empty()) folder_ = "/tmp";
  fd_ = open_without_name(folder_);
  if (fd_ < 0) {
    throw Error(ErrorCode::io,
                "a temporary file for decompressed data cannot be made; give another folder with "
                "TMPDIR",
                {.path = folder_.string(), .errno_value = errno});
  }
}

Spool::~Spool() {
  if (fd_ >= 0) ::close(fd_);
}

Spool::Spool(Spool&& other) noexcept
    : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

void Spool::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), size_);
    if (n >= 0) {
      size_ += n;
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      const int error = errno;
      throw Error(ErrorCode::io,
                  fmt::format("a temporary file with {} MB of decompressed data cannot grow{}",
                              size_ / 1'000'000,
                              error == ENOSPC || error == EDQUOT
                                  ? "; free some space there, or decompress the files beforehand"
                                  : ""),
                  {.path = folder_.string(), .errno_value = error});
    }
  }
}

void Spool::read_at(int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), offset);
    if (n > 0) {
      offset += n;
      out = out.subspan(static_cast<size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      throw Error(ErrorCode::io, "a temporary file with decompressed data cannot be read",
                  {.path = folder_.string(), .offset = offset, .errno_value = n == 0 ? 0 : errno});
    }
  }
}

}  // namespace ffkit
