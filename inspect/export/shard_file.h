// A new file that is written from front to back, in pieces of a megabyte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/file/file.h"

namespace ffkit {

// Not thread-safe. All functions throw Error(io), with what to do about a full disk.
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
