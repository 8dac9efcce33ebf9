// ShardWriter: streams records into one shard file (FORMAT.md).
//
//   header | records, page aligned | index streams | catalog | trailer
//
// The file grows under the name `path` + ".tmp" and appears as `path` only in finish(), complete
// and fsynced. A writer that is destroyed without finish() removes its temporary file. If `path` is
// an address ("s3://bucket/x.ffr"), bytes are sent as they come, with at most 80 MiB in memory, and
// the object appears in finish(). Not thread-safe: one thread at a time. Cannot be moved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include <ffkit/base/compression.h>
#include <ffkit/format/content_sum.h>
#include <ffkit/format/schema.h>
#include <ffkit/format/shard_facts.h>

namespace ffkit {

struct ShardWriterOptions {
  // A power of two, 1 .. 1 MiB; with 512 or more, O_DIRECT reads the fewest bytes. A record longer
  // than this starts at a multiple of it; a shorter one never crosses a multiple.
  uint32_t alignment = 4096;
  // Identifies the shard; written to header and trailer. The same input must give the same uuid, so
  // that conversions are repeatable to the byte.
  std::array<uint8_t, 16> uuid{};
  // Compression by append(record). Its dictionary, if any, is stored in the shard; records that
  // were compressed elsewhere must use the same dictionary.
  CompressionOptions compression;
  // Approximate size of the shard in bytes; 0: unknown. Needed for an object of more than 160 GB,
  // because stores limit the number of parts.
  int64_t expected_bytes = 0;
};

class ShardWriter {
 public:
  // Creates `path`.tmp, and replaces one left by a crash. Throws Error(invalid_argument) if `path`
  // exists or the options are out of range, Error(io) if the file cannot be made. For a store also
  // Error(invalid_argument) for credentials, Error(unsupported) if it is read-only.
  ShardWriter(std::filesystem::path path, Schema schema, ShardWriterOptions options = {});
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  // Appends one encoded record (RecordBuilder::encode) and returns its number in the shard. May
  // block on the disk or the store. Throws Error(corrupt) if the bytes are not a record of the
  // schema, Error(io) if writing fails.
  int64_t append(std::span<const std::byte> record);
  // The same with the result of a RecordCompressor for `record`, e.g. from another thread.
  // `content`: the sum of the original files, if the record does not contain their bytes or has
  // them in another code; {0, 0}: it contains them.
  int64_t append(std::span<const std::byte> record, const StoredRecord& stored,
                 const ContentSum& content = {});

  [[nodiscard]] int64_t num_records() const noexcept;
  // Bytes of header and records so far.
  [[nodiscard]] int64_t bytes_written() const noexcept;

  // Writes index and trailer, fsyncs, renames to `path` and fsyncs the folder; for an object, waits
  // until the store has it. Call nothing after it.
  ShardSummary finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
