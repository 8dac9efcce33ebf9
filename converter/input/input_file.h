// InputFile: a source's file, read at any offset from many threads. Owns its descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

namespace ffkit {

struct FileStamp {
  int64_t num_bytes = 0;
  int64_t modified_ns = 0;  // since 1970
};

class InputFile {
 public:
  // Follows symbolic links. Throws Error(not_found) for a missing file, Error(unsupported) for what
  // is not a regular file, Error(io) otherwise.
  explicit InputFile(std::filesystem::path path);
  // Takes over `descriptor`, of a file that is open for reading; `name` stands for it in messages.
  // Throws Error(io).
  InputFile(int descriptor, std::filesystem::path name);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Length in bytes when it was opened.
  int64_t size() const { return size_; }

  // Time of modification when it was opened, in ns since 1970.
  int64_t modified_ns() const { return modified_ns_; }

  // Throws Error(not_found) when it was opened with another length or time of modification than it
  // was listed with.
  void require(const FileStamp& listed) const;

  // Reads exactly out.size() bytes; throws Error(corrupt) when the file ends before,
  // Error(not_found) when it was written to since it was opened, Error(io) otherwise.
  void read_at(int64_t offset, std::span<std::byte> out) const;
  // Has the kernel fetch the range, without waiting for it.
  void will_read(int64_t offset, int64_t num_bytes) const;
  // The kernel need not read ahead: only scattered pieces will be wanted.
  void expect_scattered_reads() const;

 private:
  // Size and time of what is open; closes it and throws for what is no regular file.
  void look_at();

  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_ = 0;
  int64_t modified_ns_ = 0;
};

// Of the file at `path`, links followed; sets `error` for what is not there or no regular file.
FileStamp stamp_of(const std::filesystem::path& path, std::error_code& error);

// CRC-32C of the whole file, which is read once.
uint32_t crc32c_of(const InputFile& file);

// All of a small file; throws as InputFile does, and Error(unsupported) when it has more than
// `max_bytes`.
std::vector<std::byte> read_whole(const std::filesystem::path& path, int64_t max_bytes);

}  // namespace ffkit
