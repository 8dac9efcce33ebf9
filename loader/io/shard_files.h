// ShardFiles: the descriptors of a data set's shards for the loader's own reads. Through the page
// cache they are those that the shards hold open. O_DIRECT takes a second descriptor a shard, which
// this owns: the flag belongs to an open file, not to a read (fcntl(2), F_SETFL), and index pages,
// columns and fields are read unaligned, also by other loaders of the same data set. Immutable
// after construction, so thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/io_options.h>
#include <ffkit/loader/read_engine.h>

namespace ffkit {

// What the records of `dataset` take in their files. Those of a subset are taken to be as large as
// their shard's are in the mean, and count once.
int64_t bytes_of_records(const Dataset& dataset);

// Whether O_DIRECT is to be tried: DirectIo::automatic wants it when the data cannot stay in the
// page cache.
bool wants_direct_io(DirectIo direct, int64_t data_bytes, int64_t memory_bytes);

// The shards of `dataset`, which must outlive the use of the descriptors.
std::vector<ReadFile> open_files(const Dataset& dataset);

class ShardFiles {
 public:
  // The descriptors of `files` must outlive this. Throws Error(io) when a file cannot be opened
  // again, Error(unsupported) for DirectIo::on where a file system refuses O_DIRECT. Under
  // DirectIo::automatic such a file system is read through the page cache.
  ShardFiles(const std::vector<ReadFile>& files, int64_t data_bytes, DirectIo direct);
  ~ShardFiles();
  ShardFiles(const ShardFiles&) = delete;
  ShardFiles& operator=(const ShardFiles&) = delete;

  // The shards, in order, with the descriptors of reads.
  const std::vector<ReadFile>& files() const { return files_; }
  int descriptor(size_t shard) const { return files_[shard].descriptor; }
  std::vector<int> descriptors() const;
  // By how much the file is shorter now than the `whole_bytes` that it had; 0 when it is not.
  int64_t missing_bytes(size_t shard, int64_t whole_bytes) const;
  const std::filesystem::path& path(size_t shard) const { return files_[shard].path; }
  bool direct() const { return direct_; }
  // What offsets, lengths and buffers of reads must be multiples of; 1 without O_DIRECT.
  size_t alignment() const { return alignment_; }

 private:
  bool open_direct();
  void close_own() noexcept;

  std::vector<ReadFile> files_;
  std::vector<int> own_descriptors_;  // with O_DIRECT
  bool direct_ = false;
  size_t alignment_ = 1;
};

}  // namespace ffkit
