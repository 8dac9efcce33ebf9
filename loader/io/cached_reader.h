// CachedReader: records that the page cache holds, read by the thread that decodes them: what it
// copies stays in its core's own caches, where checksum and decoder find it, and the I/O thread is
// not the bottleneck of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/loader/io_options.h>

#include "io/shard_files.h"
#include "threads/stats_counters.h"

namespace ffkit {

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
