#include "input/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <ffkit/format/crc32c.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

int64_t modified_ns_of(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// Half of it may be of before and half of it of after.
[[noreturn]] void throw_changed(const std::filesystem::path& path) {
  throw Error(ErrorCode::not_found,
              "was changed after it was listed; convert it when nothing writes to it",
              {.path = path.string()});
}

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer. It has no effect on regular files.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) {
    const int error = errno;
    throw Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot be opened",
                {.path = path_.string(), .errno_value = error});
  }
  look_at();
}

InputFile::InputFile(int descriptor, std::filesystem::path name)
    : path_(std::move(name)), fd_(descriptor) {
  look_at();
}

void InputFile::look_at() {
  struct stat status {};
  const int error = ::fstat(fd_, &status) == 0 ? 0 : errno;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    if (error != 0) {
      throw Error(ErrorCode::io, "cannot be examined",
                  {.path = path_.string(), .errno_value = error});
    }
    throw Error(ErrorCode::unsupported, "is not a regular file", {.path = path_.string()});
  }
  size_ = status.st_size;
  modified_ns_ = modified_ns_of(status);
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      modified_ns_(other.modified_ns_) {}

void InputFile::require(const FileStamp& listed) const {
  if (size_ != listed.num_bytes || modified_ns_ != listed.modified_ns) throw_changed(path_);
}

void InputFile::read_at(int64_t offset, std::span<std::byte> out) const {
  size_t num_read = 0;
  while (num_read < out.size()) {
    const ssize_t n = ::pread(fd_, out.data() + num_read, out.size() - num_read,
                              offset + static_cast<int64_t>(num_read));
    if (n > 0) {
      num_read += static_cast<size_t>(n);
    } else if (n == 0) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("the file ends after {} of {} bytes; was it changed meanwhile?",
                              num_read, out.size()),
                  {.path = path_.string(), .offset = offset});
    } else if (errno != EINTR) {
      throw Error(ErrorCode::io, fmt::format("cannot read {} bytes", out.size()),
                  {.path = path_.string(), .offset = offset, .errno_value = errno});
    }
  }
  struct stat now {};
  if (::fstat(fd_, &now) == 0 && (now.st_size != size_ || modified_ns_of(now) != modified_ns_)) {
    throw_changed(path_);
  }
}

void InputFile::will_read(int64_t offset, int64_t num_bytes) const {
  (void)::posix_fadvise(fd_, offset, num_bytes, POSIX_FADV_WILLNEED);
}

void InputFile::expect_scattered_reads() const {
  // Advice only: a file system that does not take it is no error.
  (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);
}

FileStamp stamp_of(const std::filesystem::path& path, std::error_code& error) {
  struct stat status {};
  error.clear();
  if (::stat(path.c_str(), &status) != 0) {
    error.assign(errno, std::generic_category());
    return {};
  }
  if (!S_ISREG(status.st_mode)) {
    error = std::make_error_code(S_ISDIR(status.st_mode) ? std::errc::is_a_directory
                                                         : std::errc::not_supported);
    return {};
  }
  return {.num_bytes = status.st_size, .modified_ns = modified_ns_of(status)};
}

uint32_t crc32c_of(const InputFile& file) {
  constexpr int64_t kChunkBytes = 1 << 20;
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(kChunkBytes, file.size())));
  uint32_t crc = 0;
  for (int64_t offset = 0; offset < file.size(); offset += kChunkBytes) {
    const auto length = static_cast<size_t>(std::min(kChunkBytes, file.size() - offset));
    const auto piece = std::span(chunk).first(length);
    file.read_at(offset, piece);
    crc = crc32c(piece, crc);
  }
  return crc;
}

std::vector<std::byte> read_whole(const std::filesystem::path& path, int64_t max_bytes) {
  const InputFile file(path);
  if (file.size() > max_bytes) {
    throw Error(ErrorCode::unsupported,
                fmt::format("has {} bytes; {} at most were expected", file.size(), max_bytes),
                {.path = path.string()});
  }
  std::vector<std::byte> bytes(static_cast<size_t>(file.size()));
  file.read_at(0, bytes);
  return bytes;
}

}  // namespace ffkit
