// Files: a descriptor that closes itself, reads and writes that are complete or throw, and the
// steps that make a file durable.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ffkit {

class File {
 public:
  // Throws Error(not_found) for ENOENT, else Error(io).
  static File open_for_reading(std::filesystem::path path);
  // Creates or empties the file. Throws Error(io).
  static File create(std::filesystem::path path);
  // Takes over `descriptor`; `name` stands for the file in messages.
  static File adopt(int descriptor, std::filesystem::path name) {
    return {std::move(name), descriptor};
  }

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  int fd() const noexcept { return fd_; }
  const std::filesystem::path& path() const noexcept { return path_; }
  // Throws Error(invalid_argument) for what is no regular file, Error(io) otherwise.
  int64_t size() const;
  // Gives the descriptor away.
  int release() noexcept { return std::exchange(fd_, -1); }

  // Reads exactly out.size() bytes; throws Error(corrupt) when the file ends before, Error(io)
  // otherwise; of `record`, unless it is -1.
  void read_at(int64_t offset, std::span<std::byte> out, int64_t record = -1) const;
  // Appends all of `data`; throws Error(io). Every few megabytes it has the disk begin to write
  // what is there, without waiting for it. After an error of write(), write_at(), sync() or close()
  // all four throw: nobody knows what the file holds.
  void write(std::span<const std::byte> data);
  // Overwrites what write() has written before at `offset`; errors as write().
  void write_at(int64_t offset, std::span<const std::byte> data);
  // On file systems without fsync it does nothing (has_no_fsync).
  void sync();
  // Reports what close(2) says; the destructor cannot. Once only.
  void close();

 private:
  File(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  void begin_write_back(int64_t num_written);
  void require_unbroken() const;
  [[noreturn]] void break_with(const char* what, int error);

  std::filesystem::path path_;
  int fd_ = -1;
  int64_t written_bytes_ = 0;
  int64_t unsent_bytes_ = 0;  // at their end, not yet on their way to the disk
  bool is_broken_ = false;
};

// All of a small regular file. Throws Error(unsupported) when it has more than `max_bytes`, else as
// File does.
inline constexpr int64_t kMaxWholeFileBytes = int64_t{256} << 20;
std::vector<std::byte> read_whole_file(const std::filesystem::path& path,
                                       int64_t max_bytes = kMaxWholeFileBytes);
std::string read_whole_text(const std::filesystem::path& path,
                            int64_t max_bytes = kMaxWholeFileBytes);

// Raises the limit of open files of this process as far as it may: the soft RLIMIT_NOFILE to the
// hard one. False when it is there already.
bool raise_open_files_limit();

// Opens as open(2) does, with O_CLOEXEC, also after interruptions. Where the process has too many
// open files (EMFILE), it raises its limit. Returns -1 and sets errno.
int open_descriptor(const std::filesystem::path& path, int flags);

// Whether `error`, of fsync(2), means that the file system has none: then what is written is as
// durable as it gets.
bool has_no_fsync(int error);

// Throws Error(unsupported) for an address ("s3://bucket/x"), of whatever kind, and
// Error(invalid_argument) for one that lost a slash ("s3:/bucket/x", as Python's Path makes it): it
// would become a folder that is called "s3:". For what is written to disks of this machine alone.
void require_local(const std::filesystem::path& path);

// require_local(), and throws Error(invalid_argument) when `path`, or a folder above it, is a link
// to something that is not there: a disk that is not mounted, as a rule.
void refuse_dangling_destination(const std::filesystem::path& path);

// refuse_dangling_destination(), and throws Error(invalid_argument) where `path` is a folder or a
// device, Error(io) where no file can be made beside it: before the work whose results go there.
void require_place_for_file(const std::filesystem::path& path);

// Renames `from` to `to` and fsyncs the folder, so that the new name survives a power cut.
// When the fsync fails, `to` is in place.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
void sync_folder(const std::filesystem::path& folder);
void sync_folder_of(const std::filesystem::path& file);

// Has `write(File&)` fill a file of a temporary name beside `path`, then fsync, rename and fsync of
// the folder. What was at `path` is replaced; on an exception it is untouched, and the temporary
// file is removed.
template <std::invocable<File&> Write>
void write_durably(const std::filesystem::path& path, Write write) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  try {
    File file = File::create(temporary);
    write(file);
    file.sync();
    file.close();
    rename_durably(temporary, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

// The same of a file that holds `text`.
inline void write_durably(const std::filesystem::path& path, std::string_view text) {
  write_durably(path, [text](File& file) { file.write(std::as_bytes(std::span(text))); });
}

}  // namespace ffkit
