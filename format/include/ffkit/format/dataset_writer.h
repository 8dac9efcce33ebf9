// DatasetWriter: writes one split: shards of about `shard_bytes`, then the manifest.
//
// append() takes records in their final order; the same records in the same order give the same
// bytes. The split is readable only after finish(). A folder may be an address
// ("s3://bucket/set/train"): shards are sent while they grow (shard_writer.h). Not thread-safe: one
// thread at a time. A moved-from object can only be destroyed or assigned to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <ffkit/format/manifest.h>
#include <ffkit/format/shard_writer.h>

namespace ffkit {

// "shard-00012.ffr"
std::string shard_file_name(int64_t number);
// The uuid (RFC 9562, version 8) of a split's shard. The same split, schema, options and number
// give the same uuid. Throws Error(invalid_argument) for a field whose name is not UTF-8.
std::array<uint8_t, 16> shard_uuid(const Manifest& manifest, int64_t number);

struct DatasetWriterOptions {
  // A shard is closed once it holds this many bytes; at least 1 MiB.
  int64_t shard_bytes = 256LL << 20;
  uint32_t alignment = 4096;       // see ShardWriterOptions
  CompressionOptions compression;  // see ShardWriterOptions
};

class DatasetWriter {
 public:
  // Creates `folder` (its parent must exist, unless it is an address). `manifest` has split,
  // schema, classes, source, options and created_by; this class adds the shards. Throws
  // Error(invalid_argument) if `folder` already has a manifest, and for a text that is not UTF-8.
  DatasetWriter(std::filesystem::path folder, Manifest manifest, DatasetWriterOptions options = {});
  // Continues the split in `folder`: adds new shards after the old ones, and finish() replaces the
  // manifest in one step. Until then readers see the old split. Throws like read_manifest(), and
  // Error(unsupported) for an address.
  static DatasetWriter append_to(std::filesystem::path folder, DatasetWriterOptions options = {});
  // Without finish(), removes the shards it wrote.
  ~DatasetWriter();
  DatasetWriter(DatasetWriter&&) noexcept;
  DatasetWriter& operator=(DatasetWriter&&) noexcept;

  [[nodiscard]] const Schema& schema() const noexcept;
  // For RecordCompressors that prepare what append() takes.
  [[nodiscard]] const CompressionOptions& compression() const noexcept;

  // Appends an encoded record; returns its number in the split. See ShardWriter::append.
  int64_t append(std::span<const std::byte> record);
  int64_t append(std::span<const std::byte> record, const StoredRecord& stored,
                 const ContentSum& content = {});

  // Closes the last shard and writes the manifest. A split without records is an
  // Error(invalid_argument).
  Manifest finish();

 private:
  struct Impl;
  explicit DatasetWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
