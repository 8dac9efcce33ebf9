// RecordUnpacker: makes a record from its bytes in the file: checks the checksum and decompresses
// it.
//
// For callers that read the bytes themselves (see ShardReader::locate), like the loader; others use
// ShardReader::read() or Dataset::read(). Keeps its memory from record to record. Not thread-safe:
// one per thread. A moved-from object can only be destroyed or assigned to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <ffkit/format/shard_reader.h>

namespace ffkit {

struct UnpackBuffers;  // private to the readers

class RecordUnpacker {
 public:
  RecordUnpacker();
  ~RecordUnpacker();
  RecordUnpacker(RecordUnpacker&&) noexcept;
  RecordUnpacker& operator=(RecordUnpacker&&) noexcept;

  // The record (for RecordView) from `stored`, the bytes at `where` of `shard`. If the record is
  // not compressed, the result points into `stored`, otherwise into this object, until the next
  // call. Throws Error(corrupt) that names shard, record and offset if the checksum is wrong
  // (unless `verify_checksum` is false) or the bytes cannot be decompressed.
  std::span<const std::byte> unpack(const ShardReader& shard, int64_t record,
                                    const RecordLocation& where, std::span<const std::byte> stored,
                                    bool verify_checksum = true);

 private:
  std::unique_ptr<UnpackBuffers> buffers_;
};

}  // namespace ffkit
