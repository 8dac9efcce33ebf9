#include <fmt/format.h>
#include <zlib.h>

#include <ffkit/format/crc32c.h>
#include <ffkit/format/error.h>
#include <ffkit/format/record_unpacker.h>

#include "shard_file.h"
#include "unpack_buffers.h"

namespace ffkit {
namespace {

uint32_t checksum_of(std::span<const std::byte> bytes, Checksum type) {
  if (type == Checksum::crc32c) return crc32c(bytes);
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace

bool has_checksum(const RecordLocation& where, std::span<const std::byte> stored) {
  return where.checksum_type == Checksum::none ||
         checksum_of(stored, where.checksum_type) == where.checksum;
}

RecordUnpacker::RecordUnpacker() : buffers_(std::make_unique<Buffers>()) {}
RecordUnpacker::~RecordUnpacker() = default;
RecordUnpacker::RecordUnpacker(RecordUnpacker&&) noexcept = default;
RecordUnpacker& RecordUnpacker::operator=(RecordUnpacker&&) noexcept = default;

std::span<const std::byte> RecordUnpacker::unpack(const ShardReader& shard, int64_t record,
                                                  const RecordLocation& where,
                                                  std::span<const std::byte> stored,
                                                  bool verify_checksum) {
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
}

}  // namespace ffkit
