// InputFile: a source's file, read at any offset from many threads: a File that must not change
// while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>

#include "format/file/file.h"

namespace ffkit {

struct FileStamp {
  int64_t num_bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  bool operator==(const FileStamp&) const = default;
};

class InputFile {
 public:
  // Follows symbolic links. Throws Error(not_found) for a missing file, Error(unsupported) for what
  // is not a regular file, Error(io) otherwise.
  explicit InputFile(std::filesystem::path path);
  explicit InputFile(File file);

  const std::filesystem::path& path() const noexcept { return file_.path(); }
  // As it was when it was opened.
  const FileStamp& stamp() const noexcept { return stamp_; }
  int64_t size() const noexcept { return stamp_.num_bytes; }
  int64_t modified_ns() const noexcept { return stamp_.modified_ns; }

  // Throws Error(not_found) when it was opened with another length or time of modification than it
  // was listed with.
  void require(const FileStamp& listed) const;

  // Reads exactly out.size() bytes; throws Error(corrupt) when the file ends before,
  // Error(not_found) when it was written to since it was opened, Error(io) otherwise.
  void read_at(int64_t offset, std::span<std::byte> out) const;
  // Has the kernel fetch the range, without waiting for it.
  void will_read(int64_t offset, int64_t num_bytes) const;
  // The kernel need not read ahead: only scattered pieces will be wanted; with false, it may again.
  void expect_scattered_reads(bool are_scattered = true) const;

 private:
  File file_;
  FileStamp stamp_;  // when it was opened
};

// Of the file at `path`, links followed; sets `error` for what is not there or no regular file.
FileStamp stamp_of(const std::filesystem::path& path, std::error_code& error);

// CRC-32C of the whole file, which is read once.
uint32_t crc32c_of(const InputFile& file);

}  // namespace ffkit
