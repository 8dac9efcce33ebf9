// Facts of a shard, problems found by a check, and limits for reading. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <ffkit/base/enum_names.h>

namespace ffkit {

// A problem that a check found.
struct ShardProblem {
  int64_t record = -1;  // -1: not a record but the index or a column
  int64_t offset = -1;
  std::string message;  // one sentence with file, record and offset
};

// The numbers that a shard is known by.
struct ShardSummary {
  int64_t num_records = 0;
  int64_t file_bytes = 0;
  int64_t record_bytes = 0;  // the sum of the records' lengths in the file
  int64_t raw_bytes = 0;     // the sum of their lengths before compression
  // The CRC-32C of the catalog. Through the checksums in the catalog it covers every byte of the
  // shard except padding. For a v1 file, the CRC-32 of the header.
  uint32_t checksum = 0;
};

// Facts about a shard, without reading its records.
struct ShardFacts : ShardSummary {
  int version = 2;                 // of the format: 1 or 2
  uint32_t alignment = 4096;       // 1 for v1
  int64_t dictionary_bytes = 0;    // 0: none
  std::array<uint8_t, 16> uuid{};  // 0 for v1
  std::string warning;             // something the user should know, or empty
};

// When the shards of a Dataset are opened and compared with its manifest.
enum class ShardCheck : uint8_t {
  automatic,  // at once where all may stay open (max_open_shards), else each when it is needed
  at_once,    // all by Dataset::open(), one after the other
  as_needed,
};
template <>
inline constexpr auto kNames<ShardCheck> =
    enum_names<ShardCheck>("check_shards", {{ShardCheck::automatic, "automatic"},
                                            {ShardCheck::at_once, "at_once"},
                                            {ShardCheck::as_needed, "as_needed"}});

// With these limits, a damaged or hostile file gives an error instead of exhausting memory: a few
// KiB of zstd may claim 1 GiB, and a sparse file any length.
struct ShardReaderOptions {
  // Memory for pages of the index, at least 4 KiB. 1 MiB is enough for 32,512 records; for a record
  // on another page, 4 KiB are read.
  int64_t index_cache_bytes = 1 << 20;
  // The longest record, stored or decompressed. For a longer one, locate() and all functions that
  // read records throw Error(unsupported). Each reading thread needs up to this much memory, twice
  // as much for compressed and v1 records.
  int64_t max_record_bytes = int64_t{256} << 20;
  // The longest header of a v1 file, which is kept in memory: 12 bytes per record, so 1 GiB is
  // enough for 89 million records. Opening a file with a longer header throws Error(unsupported).
  int64_t max_v1_header_bytes = int64_t{1} << 30;
  // For a Dataset with a manifest: largest number of open shards, each with its descriptor and its
  // index_cache_bytes; at least 1. If there are more shards, the least recently used ones are
  // closed and opened again when needed. Reads in flight keep their shards open, beyond this
  // number.
  int64_t max_open_shards = 512;
  ShardCheck check_shards = ShardCheck::automatic;
};

}  // namespace ffkit
