// RecordLocation: the place of a record's bytes in its shard, and how they are stored.
#pragma once

#include <cstdint>

#include <ffkit/base/compression.h>

namespace ffkit {

enum class Checksum : uint8_t {
  crc32c,
  crc32,  // zlib's; v1 files
  none,   // v1 records without one
};

// The place of a record's bytes. The loader reads them itself; RecordUnpacker makes a record from
// them.
struct RecordLocation {
  int64_t offset = 0;        // of the first byte, in the shard file
  int64_t stored_bytes = 0;  // in the file; may be 0 in v1 files
  // of the decompressed record; equal to stored_bytes for Codec::none, at least the length for
  // Codec::v1
  int64_t raw_bytes = 0;
  uint32_t checksum = 0;  // of the stored bytes
  Checksum checksum_type = Checksum::crc32c;
  Codec codec = Codec::none;
};

}  // namespace ffkit
