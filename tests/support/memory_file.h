// A file in memory that has a path, for tests that make or damage a file many thousand times.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>

namespace ffkit::testing {

class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes = {})
      : fd_(memfd_create("ffkit-test", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("memfd_create failed");
    write(0, bytes);
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", fd_); }
  void write(size_t offset, std::span<const std::byte> bytes) {
    if (pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("pwrite failed");
    }
  }
  // Replaces all that it holds.
  void assign(std::span<const std::byte> bytes) {
    truncate(0);
    write(0, bytes);
  }
  void truncate(size_t size) {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) throw std::runtime_error("ftruncate failed");
  }

 private:
  int fd_;
};

}  // namespace ffkit::testing
