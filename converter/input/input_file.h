// InputFile: a source's file, read at any offset from many threads: a File, or an object of a
// store, that must not change while it is read. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/file/file.h"
#include "converter/places/object_file.h"

namespace ffkit {

struct SourceInput;

struct FileStamp {
  int64_t num_bytes = 0;
  // Since 1970; of an object a number made of its version (version_number()).
  int64_t modified_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

class InputFile {
 public:
  // Of a path or an address. Follows symbolic links. Throws Error(not_found) for a missing file,
  // Error(unsupported) for what is not a regular file, Error(io) otherwise.
  explicit InputFile(std::filesystem::path path);
  // The same and require(listed). A store is not asked: the first read of an object tells.
  InputFile(std::filesystem::path path, const FileStamp& listed);
  explicit InputFile(File file);

  // For messages: an address without its query, which may be a signature.
  const std::filesystem::path& path() const noexcept { return file_ ? file_->path() : name_; }
  // Each read that was not announced waits for a request.
  bool is_in_store() const noexcept { return object_ != nullptr; }
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
  // The beginning of a range, or of the file, as much as content_kind() looks at.
  std::vector<std::byte> head(int64_t offset, int64_t num_bytes) const;
  std::vector<std::byte> head() const { return head(0, size()); }
  // Has the kernel fetch the range, or a request, without waiting for it.
  void will_read(int64_t offset, int64_t num_bytes) const;
  // The kernel need not read ahead: only scattered pieces will be wanted; with false, it may again.
  void expect_scattered_reads(bool are_scattered = true) const;

 private:
  std::optional<File> file_;
  std::unique_ptr<ObjectFile> object_;  // where there is no file_
  std::filesystem::path name_;          // of the object
  FileStamp stamp_;                     // when it was opened
};

// Of the file at `path`, links followed; sets `error` for what is not there or no regular file.
// What a store says otherwise is thrown.
FileStamp stamp_of(const std::filesystem::path& path, std::error_code& error);

// All of a small file, as read_whole_file() and read_whole_text() of base/file/file.h, or of a
// small object. Throws Error(unsupported) when it has more than `max_bytes`.
std::vector<std::byte> read_source_bytes(const std::filesystem::path& path,
                                         int64_t max_bytes = kMaxWholeFileBytes);
std::string read_source_text(const std::filesystem::path& path,
                             int64_t max_bytes = kMaxWholeFileBytes);

// What a manifest says of `file`, as `name`, with the CRC-32C of it all, which is read once.
SourceInput input_of(std::string name, const InputFile& file);

// Links that lead to nothing, such as those to a disk that is not mounted. What looks for files
// passes over them without a word.

// What is wrong with the link at `path` when it leads to nothing: "is a link to '/data/val', which
// is not there; restore it, or remove the link". Empty for everything else, what is not
// there itself included. Never throws for what the disk says.
std::string dangling_link(const std::filesystem::path& path);

// Throws Error(not_found) with dangling_link() where it says something.
void refuse_dangling_link(const std::filesystem::path& path);
// The same, and for what is no folder.
void require_source_folder(const std::filesystem::path& path);

}  // namespace ffkit
