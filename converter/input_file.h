// InputFile: a source's file, read at any offset from many threads. Owns its descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace ffkit {

class InputFile {
 public:
  // Follows symbolic links. Throws Error(not_found) for a missing file, Error(unsupported) for what
  // is not a regular file, Error(io) otherwise.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Length in bytes when it was opened.
  int64_t size() const { return size_; }

  // Reads exactly out.size() bytes; throws Error(corrupt) when the file ends before, Error(io)
  // otherwise.
  void read_at(int64_t offset, std::span<std::byte> out) const;
  // Has the kernel fetch the range, without waiting for it.
  void will_read(int64_t offset, int64_t num_bytes) const;
  // The kernel need not read ahead: only scattered pieces will be wanted.
  void expect_scattered_reads() const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

// All of a small file; throws as InputFile does, and Error(unsupported) when it has more than `max_bytes`.
std::vector<std::byte> read_whole(const std::filesystem::path& path, int64_t max_bytes);

}  // namespace ffkit
