// ShardFiles: the shards of a data set opened once more for the loader's own reads, with O_DIRECT where that is wanted.
// Owns the descriptors. Immutable after construction, so thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <ffkit/loader/loader.h>

namespace ffkit {

// Whether O_DIRECT is to be tried: DirectIo::automatic wants it when the data cannot stay in the page cache.
bool wants_direct_io(DirectIo direct, int64_t data_bytes, int64_t memory_bytes);

class ShardFiles {
 public:
  // Throws Error(io) when a file cannot be opened, Error(unsupported) for DirectIo::on where a file system refuses O_DIRECT.
  // Under DirectIo::automatic such a file system is read through the page cache.
  ShardFiles(std::vector<std::filesystem::path> paths, int64_t data_bytes, DirectIo direct);
  ~ShardFiles();
  ShardFiles(const ShardFiles&) = delete;
  ShardFiles& operator=(const ShardFiles&) = delete;

  const std::vector<int>& descriptors() const { return descriptors_; }
  const std::filesystem::path& path(size_t shard) const { return paths_[shard]; }
  bool direct() const { return direct_; }
  // What offsets, lengths and buffers of reads must be multiples of; 1 without O_DIRECT.
  size_t alignment() const { return alignment_; }

 private:
  bool open_direct();
  void open_buffered();
  void close_all() noexcept;

  std::vector<std::filesystem::path> paths_;
  std::vector<int> descriptors_;
  bool direct_ = false;
  size_t alignment_ = 1;
};

}  // namespace ffkit
