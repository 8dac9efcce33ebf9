// ShardWriter: streams records into one shard file (FORMAT.md).
//
//   header | records, page aligned | index streams | catalog | trailer
//
// The file grows under the name `path` + ".tmp" and appears as `path` only in finish(), complete
// and fsynced. A writer that is destroyed without finish() removes its temporary file. Where `path`
// is the address of an object ("s3://bucket/x.ffr") its bytes are sent as they come, of which at
// most 80 MiB are in memory, and the object appears in finish(). Not thread-safe: one thread at a
// time. Cannot be moved.
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
  // A power of two, 1 .. 1 MiB; from 512 on, O_DIRECT reads the fewest bytes. A record that is
  // longer starts at a multiple of it; a shorter one never crosses a multiple.
  uint32_t alignment = 4096;
  // Identifies the shard; written to header and trailer. The same input must give the same uuid, so
  // that conversions are repeatable to the byte.
  std::array<uint8_t, 16> uuid{};
  // How append(record) compresses. Its dictionary, if any, is stored in the shard, and records
  // compressed elsewhere must have been compressed with the same.
  CompressionOptions compression;
  // About how many bytes the shard will have; 0: not known. Needed for an object of more than 160
  // GB, since a store limits the number of parts.
  int64_t expected_bytes = 0;
};

class ShardWriter {
 public:
  // Creates `path`.tmp, replacing one left by a crash. Throws Error(invalid_argument) when `path`
  // exists or the options are out of range, Error(io) when the file cannot be made. Of a store:
  // also Error(invalid_argument) for credentials, Error(unsupported) for one that is only read.
  ShardWriter(std::filesystem::path path, Schema schema, ShardWriterOptions options = {});
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  // Appends one encoded record (RecordBuilder::encode) and returns its number in the shard. May
  // block on the disk or the store. Throws Error(corrupt) when the bytes are not a record of the
  // schema, Error(io) when writing fails.
  int64_t append(std::span<const std::byte> record);
  // The same with what a RecordCompressor made of `record`, e.g. on another thread. `content`: of
  // the files that the record was made from, where it does not have their bytes, or has them in
  // another code; {0, 0}: it has.
  int64_t append(std::span<const std::byte> record, const StoredRecord& stored,
                 const ContentSum& content = {});

  [[nodiscard]] int64_t num_records() const noexcept;
  // Bytes of header and records so far.
  [[nodiscard]] int64_t bytes_written() const noexcept;

  // Writes index and trailer, fsyncs, renames to `path` and fsyncs the folder; of an object: waits
  // until the store has it. Nothing may be called after it.
  ShardSummary finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
