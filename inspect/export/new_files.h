// New files: a folder tree that appears whole or not at all, and what is written into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/file/file.h"

namespace ffkit {

// Makes the folder and those above it; throws Error(io).
void make_folder(const std::filesystem::path& folder);
// Creates `file` with `data`; throws Error(io) when it exists or cannot be written.
void write_new_file(const std::filesystem::path& file, std::span<const std::byte> data);

// Calls `fill` with an empty folder whose content becomes that of `destination`, which must not
// exist or be an empty folder.
//
//   OUT does not exist:    OUT.ffinspect-export/  is filled, then renamed to OUT
//   OUT is an empty folder: OUT/.ffinspect-export/ is filled, then what is in it moves up
//
// While it is filled, nobody else can fill the same `destination`: Error(invalid_argument). When
// `fill` throws, all of it is removed; what a process that was killed left is removed by the next
// one. Throws Error(invalid_argument) for a destination that will not do, Error(io).
void make_tree(const std::filesystem::path& destination,
               const std::function<void(const std::filesystem::path& folder)>& fill);

// Throws Error(cancelled) once a signal has asked to stop (stop_signals.h).
void throw_if_stopped();

// A new file that is written from front to back, in pieces of a megabyte. Not thread-safe. All
// functions throw Error(io), with what to do about a full disk.
class ShardFile {
 public:
  explicit ShardFile(const std::filesystem::path& path);

  void write(std::span<const std::byte> data);
  void write(std::string_view text);
  // Of what write() was given.
  int64_t num_bytes() const noexcept { return num_bytes_; }
  // Writes what is left. Without it the file is not whole.
  void close();

 private:
  void flush();

  File file_;
  std::vector<std::byte> buffer_;
  int64_t num_bytes_ = 0;
};

}  // namespace ffkit
