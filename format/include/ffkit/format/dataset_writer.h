// DatasetWriter: writes one split of a data set folder: shards of about `shard_bytes`, then the
// manifest.
//
// Records arrive in their final order through append(); the same records in the same order give the
// same bytes. The split is readable only after finish(). Not thread-safe: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include <ffkit/format/manifest.h>
#include <ffkit/format/shard_writer.h>

namespace ffkit {

struct DatasetWriterOptions {
  int64_t shard_bytes =
      256LL << 20;            // a shard is closed once it holds this many bytes; at least 1 MiB
  uint32_t alignment = 4096;  // see ShardWriterOptions
};

class DatasetWriter {
 public:
  // Creates `folder` (its parent must exist). `manifest` gives split, schema, classes, source,
  // options and created_by; its shards are filled in here. Throws Error(invalid_argument) when
  // `folder` already holds a manifest.
  DatasetWriter(std::filesystem::path folder, Manifest manifest, DatasetWriterOptions options = {});
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  // Appends an encoded record with its CRC-32C; returns its number in the split.
  int64_t append(std::span<const std::byte> record, uint32_t crc32c);

  // Closes the last shard and writes the manifest. A split without records is an
  // Error(invalid_argument).
  Manifest finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
