#include <fmt/format.h>

#include <ffkit/base/error.h>
#include <ffkit/format/record_unpacker.h>

#include "shard/shard_file.h"
#include "shard/unpack_buffers.h"

namespace ffkit {

RecordUnpacker::RecordUnpacker() : buffers_(std::make_unique<UnpackBuffers>()) {}
RecordUnpacker::~RecordUnpacker() = default;
RecordUnpacker::RecordUnpacker(RecordUnpacker&&) noexcept = default;
RecordUnpacker& RecordUnpacker::operator=(RecordUnpacker&&) noexcept = default;

std::span<const std::byte> RecordUnpacker::unpack(const ShardReader& shard, int64_t record,
                                                  const RecordLocation& where,
                                                  std::span<const std::byte> stored,
                                                  bool verify_checksum) {
  return shard_errors_only(shard.path(), record, [&] {
    if (verify_checksum && !has_checksum(where, stored)) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format("the record is damaged: {} of its {} bytes is {:08x}, expected {:08x}; "
                      "copy or convert the shard again",
                      where.checksum_type == Checksum::crc32c ? "CRC-32C" : "CRC-32", stored.size(),
                      checksum_of(stored, where.checksum_type), where.checksum),
          {.path = shard.path().string(), .record = record, .offset = where.offset});
    }
    return shard.file_->unpack(record, where, stored, *buffers_);
  });
}

}  // namespace ffkit
