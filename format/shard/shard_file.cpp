#include "shard/shard_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include <ffkit/base/crc32c.h>
#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

namespace ffkit {
namespace {

// What of the record is in memory at once, if not twice. A v1 record grows by its table alone.
int64_t bytes_in_memory(const RecordLocation& where) {
  return where.codec == Codec::v1 ? where.stored_bytes
                                  : std::max(where.stored_bytes, where.raw_bytes);
}

bool is_about_what_is_read(const Error& error) {
  switch (error.code()) {
    case ErrorCode::corrupt:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
      return true;
    case ErrorCode::io:
      return !is_out_of_memory(error);
    case ErrorCode::invalid_argument:
    case ErrorCode::cancelled:
      return false;
  }
  return false;
}

}  // namespace

void rethrow_as_shard_error(const std::filesystem::path& path, int64_t record) {
  try {
    rethrow_as_error(path, record, record < 0 ? kMoreMemory : kMemoryForRecords);
  } catch (const Error& error) {
    if (!is_about_what_is_read(error)) throw;
    throw error.within(
        {.subject = error.context().record < 0 ? ErrorSubject::shard : ErrorSubject::sample});
  }
}

bool fits(const RecordLocation& where, const ShardReaderOptions& limits) {
  return bytes_in_memory(where) <= limits.max_record_bytes;
}

void require_record_fits(const RecordLocation& where, int64_t record,
                         const std::filesystem::path& file, const ShardReaderOptions& limits) {
  if (fits(where, limits)) return;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("the record has {} bytes, more than the limit of {} bytes ({}); raise the limit "
                  "if the size is correct",
                  bytes_in_memory(where), limits.max_record_bytes, option_name("max_record")),
      {.path = file.string(), .record = record, .offset = where.offset});
}

uint32_t checksum_of(std::span<const std::byte> bytes, Checksum type) {
  if (type == Checksum::crc32c) return crc32c(bytes);
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

bool has_checksum(const RecordLocation& where, std::span<const std::byte> stored) {
  return where.checksum_type == Checksum::none ||
         checksum_of(stored, where.checksum_type) == where.checksum;
}

}  // namespace ffkit
