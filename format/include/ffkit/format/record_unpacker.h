// RecordUnpacker: from the bytes of a record in its file to the record: checks its checksum and
// decompresses it.
//
// For callers that read the bytes themselves (ShardReader::locate says where they are), as the
// loader does; all others use ShardReader::read() or Dataset::read(). Keeps its memory from record
// to record. Not thread-safe: one per thread. A moved-from object can only be destroyed or
// assigned to.
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

  // The record (for RecordView) that `stored`, the bytes at `where` of `shard`, stands for. Points
  // into `stored` when it is stored as it is, else into this object, until the next call. Throws
  // Error(corrupt), naming shard, record and offset, when the checksum is another (unless
  // `verify_checksum` is false) or the bytes cannot be decompressed.
  std::span<const std::byte> unpack(const ShardReader& shard, int64_t record,
                                    const RecordLocation& where, std::span<const std::byte> stored,
                                    bool verify_checksum = true);

 private:
  std::unique_ptr<UnpackBuffers> buffers_;
};

}  // namespace ffkit
