#include "input/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <ffkit/format/crc32c.h>

#include "format/make_error.h"

namespace ffkit {
namespace {

FileStamp stamp_of(const struct stat& status) {
  return {.num_bytes = status.st_size,
          .modified_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

FileStamp stamp_of(const File& file) {
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) {
    throw io_error_at(file.path(), "cannot be examined", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw error_at(file.path(), ErrorCode::unsupported, "is not a regular file");
  }
  return stamp_of(status);
}

// Half of it may be of before and half of it of after.
[[noreturn]] void throw_changed(const std::filesystem::path& path) {
  throw error_at(path, ErrorCode::not_found,
                 "was changed after it was listed; convert it when nothing writes to it");
}

}  // namespace

InputFile::InputFile(std::filesystem::path path)
    : InputFile(File::open_for_reading(std::move(path))) {}

InputFile::InputFile(File file) : file_(std::move(file)), stamp_(stamp_of(file_)) {}

void InputFile::require(const FileStamp& listed) const {
  if (stamp_ != listed) throw_changed(path());
}

void InputFile::read_at(int64_t offset, std::span<std::byte> out) const {
  file_.read_at(offset, out);
  if (stamp_of(file_) != stamp_) throw_changed(path());
}

void InputFile::will_read(int64_t offset, int64_t num_bytes) const {
  (void)::posix_fadvise(file_.fd(), offset, num_bytes, POSIX_FADV_WILLNEED);
}

void InputFile::expect_scattered_reads(bool are_scattered) const {
  // Advice only: a file system that does not take it is no error.
  (void)::posix_fadvise(file_.fd(), 0, 0, are_scattered ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
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
  return stamp_of(status);
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

}  // namespace ffkit
