// Files: a descriptor that closes itself, reads and writes that are complete or throw, and the
// steps that make a file durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace ffkit {

class File {
 public:
  // Throws Error(not_found) for ENOENT, else Error(io).
  static File open_for_reading(std::filesystem::path path);
  // Creates or empties the file. Throws Error(io).
  static File create(std::filesystem::path path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  int fd() const { return fd_; }
  const std::filesystem::path& path() const { return path_; }
  int64_t size() const;

  // Reads exactly out.size() bytes; throws Error(corrupt) when the file ends before, Error(io)
  // otherwise.
  void read_at(int64_t offset, std::span<std::byte> out) const;
  // Writes all of `data` at the file's position; throws Error(io).
  void write(std::span<const std::byte> data);
  void sync();
  // Reports what close(2) says; the destructor cannot.
  void close();

 private:
  File(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::filesystem::path path_;
  int fd_ = -1;
};

// Renames `from` to `to` and fsyncs the folder, so that the new name survives a power cut.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
void sync_folder(const std::filesystem::path& folder);

}  // namespace ffkit
