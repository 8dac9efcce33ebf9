// ArchiveReader: libarchive's reader over a range of a file, with errors as exceptions. One per
// thread.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "converter/input/input_file.h"

namespace ffkit {

struct FreeArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

class ArchiveReader {
 public:
  enum class Compression { none, gzip };

  // `file` must outlive the reader. `name` stands for the archive in messages. Throws
  // Error(unsupported) for what is no tar.
  ArchiveReader(const InputFile& file, int64_t offset, int64_t num_bytes, std::string name,
                Compression compression);
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  // The next member, or null at the end. Valid until the next call. Throws Error(corrupt).
  archive_entry* next();
  // Bytes consumed of an archive without compression: after next(), where the member's data begins,
  // relative to the range.
  int64_t position() const;
  // Where the headers of the member of next() begin, the same way.
  int64_t header_position() const;
  // The present member's content; throws Error(corrupt), Error(unsupported) when it is longer than
  // `max_bytes`.
  std::vector<std::byte> read_member(size_t max_bytes);

  // The path of `entry` without leading "./"; throws Error(unsupported) for a hostile path, one
  // that is no UTF-8, and for what is neither a plain file nor a folder.
  std::string checked_name(archive_entry* entry) const;

 private:
  static la_ssize_t read_callback(archive*, void* self, const void** buffer);
  static la_int64_t skip_callback(archive*, void* self, la_int64_t request);
  [[noreturn]] void fail(const char* what) const;
  void check_no_read_error() const;

  const InputFile& file_;
  const int64_t offset_;
  const int64_t num_bytes_;
  const std::string name_;
  int64_t position_ = 0;           // of the next read, relative to offset_
  std::exception_ptr read_error_;  // thrown in a callback: must not pass through C code
  std::array<std::byte, 4096> buffer_;
  std::unique_ptr<archive, FreeArchive> archive_;
};

}  // namespace ffkit
