// ShardFiles: the descriptors of a data set's shards for the loader's own reads. Through the page
// cache they are those that the shards hold open. O_DIRECT takes a second descriptor a shard, which
// this owns: the flag belongs to an open file, not to a read (fcntl(2), F_SETFL), and index pages,
// columns and fields are read unaligned, also by other loaders of the same data set. Of a data set
// whose shards are opened when they are needed, so are the descriptors. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/loader/io_options.h>
#include <ffkit/loader/read_engine.h>

#include "threads/threads.h"

namespace ffkit {

// What the records of `dataset` take in their files. Those of a subset are taken to be as large as
// their shard's are in the mean, and count once.
int64_t bytes_of_records(const Dataset& dataset);

// Whether O_DIRECT is to be tried: DirectIo::automatic wants it when the data cannot stay in the
// page cache.
bool wants_direct_io(DirectIo direct, int64_t data_bytes, int64_t memory_bytes);

class ShardFiles {
 public:
  // As the other constructor, for the shards of `dataset`.
  ShardFiles(const Dataset& dataset, int64_t data_bytes, DirectIo direct);
  // The descriptors of `files` must outlive this. Throws Error(io) when a file cannot be opened
  // again, Error(unsupported) for DirectIo::on where a file system refuses O_DIRECT. Under
  // DirectIo::automatic such a file system is read through the page cache.
  ShardFiles(const std::vector<ReadFile>& files, int64_t data_bytes, DirectIo direct);
  ~ShardFiles();
  ShardFiles(const ShardFiles&) = delete;
  ShardFiles& operator=(const ShardFiles&) = delete;

  // The shards, in order, with the descriptors of reads: -1 where they are opened when needed.
  std::vector<ReadFile> all_files() const;
  // The same descriptors; none where shards are opened when they are needed.
  std::vector<int> descriptors() const;
  // The descriptor for reads of these bytes of a shard, open while the result's `reader` is there.
  // Throws what opening the shard throws.
  ShardReader::OpenFile lease(size_t shard, int64_t offset = 0, int64_t num_bytes = 0) const;
  // By how much the file is shorter now than the `whole_bytes` that it had; 0 when it is not.
  int64_t missing_bytes(size_t shard, int64_t whole_bytes) const;
  const std::filesystem::path& path(size_t shard) const;
  // False: some are in a store, and their leases have no descriptor.
  bool are_local() const { return are_local_; }
  bool direct() const { return direct_; }
  // What offsets, lengths and buffers of reads must be multiples of; 1 without O_DIRECT.
  size_t alignment() const { return alignment_; }

 private:
  struct Leased {
    size_t shard;
    ShardReader::OpenFile file;
  };
  // As many reads as are in flight, as a rule.
  static constexpr size_t kMaxLeased = 64;

  void open_all_direct(int64_t data_bytes, DirectIo direct);
  bool open_direct();
  void close_own() noexcept;
  ShardReader::OpenFile lease_direct(size_t shard, const ShardReader& reader) const;

  std::vector<ReadFile> files_;       // of shards that are kept open
  std::vector<int> own_descriptors_;  // of these, with O_DIRECT
  std::optional<Dataset> dataset_;    // whose shards are opened when they are needed
  mutable std::mutex mutex_;          // guards what follows
  mutable std::list<Leased> leased_;  // of these, with O_DIRECT; the last used one first
  bool direct_ = false;
  bool are_local_ = true;
  size_t alignment_ = 1;
};

// CachedReader: records that the page cache holds, read by the thread that decodes them: what it
// copies stays in its core's own caches, where checksum and decoder find it, and the I/O thread is
// not the bottleneck of all.

// What is said of a record that could not be read: a read of `num_bytes` for the record at
// `location` ended with `result`, which is -errno, or bytes, of which the record lacks
// `num_missing`.
Error read_error(const std::filesystem::path& path, const Dataset::Location& location,
                 int64_t num_bytes, int64_t result, int64_t num_missing);

class CachedReader {
 public:
  // What is given by reference must outlive the reader.
  CachedReader(const ShardFiles& files, const IoOptions& options, StatsCounters& stats);

  // I/O thread: whether the page cache holds these bytes of an open shard, judged by the last of
  // them. A hint: what is gone when read() comes is read from the disk, which only takes longer.
  // Always false with O_DIRECT and where IoOptions forbids it.
  bool holds(int descriptor, int64_t offset, int64_t num_bytes);

  const ShardFiles& files() const { return files_; }

  // Any thread: the stored bytes of a record, in `buffer`, which grows as needed. Throws Error(io),
  // and what opening the shard throws.
  std::span<const std::byte> read(const Dataset::Location& location,
                                  std::vector<std::byte>& buffer) const;

 private:
  const ShardFiles& files_;
  const IoOptions& options_;
  StatsCounters& stats_;
  bool is_on_;  // the I/O thread's
};

}  // namespace ffkit
