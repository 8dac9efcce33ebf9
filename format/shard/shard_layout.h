// The fixed parts of a shard (FORMAT.md, "Header", "Index streams", "Catalog", "Trailer"): encoding
// and checked decoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/record_location.h>
#include <ffkit/format/schema.h>

namespace ffkit {

inline constexpr int64_t kPageBytes = 4096;
inline constexpr int64_t kHeaderBytes = 4096;
inline constexpr int64_t kTrailerBytes = 64;
// Opening reads this much of the file's end at once: trailer and, nearly always, the whole catalog.
inline constexpr int64_t kTailBytes = 16 << 10;
inline constexpr int64_t kPayloadBytes = 4064;  // of a stream's page
inline constexpr int64_t kEntryBytes = 32;
inline constexpr const char* kContentsStream = "contents";
inline constexpr int64_t kContentBytes = 16;
inline constexpr int64_t kMaxCatalogBytes = 64 << 20;  // bounds what opening allocates
inline constexpr uint32_t kMajorVersion = 2;
inline constexpr uint32_t kMinorVersion = 1;
inline constexpr uint32_t kMinAlignment = 1;
inline constexpr uint32_t kMaxAlignment = 1U << 20;

using Uuid = std::array<uint8_t, 16>;

constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}
constexpr bool is_alignment(uint32_t n) {
  return n >= kMinAlignment && n <= kMaxAlignment && (n & (n - 1)) == 0;
}
// Where a record of `bytes` goes when the file so far ends at `end` (FORMAT.md, "Records and
// alignment").
constexpr int64_t place_record(int64_t end, int64_t bytes, int64_t alignment) {
  const bool fits = bytes <= alignment && end % alignment + bytes <= alignment;
  return fits ? end : round_up(end, alignment);
}

// Whether a file that begins with `bytes` claims to be a shard.
bool has_v2_magic(std::span<const std::byte> bytes);

struct ShardHeader {
  uint32_t alignment = 4096;
  Uuid uuid{};
};
std::array<std::byte, kHeaderBytes> encode_header(const ShardHeader& header);
ShardHeader decode_header(std::span<const std::byte, kHeaderBytes> bytes, const std::string& path);

struct ShardTrailer {
  int64_t catalog_offset = 0;
  int64_t catalog_bytes = 0;
  uint32_t catalog_crc32c = 0;
  int64_t num_records = 0;
  int64_t file_bytes = 0;
  Uuid uuid{};
};
std::array<std::byte, kTrailerBytes> encode_trailer(const ShardTrailer& trailer);
ShardTrailer decode_trailer(std::span<const std::byte, kTrailerBytes> bytes,
                            const std::string& path, int64_t file_bytes);

struct StreamInfo {
  std::string name;
  int64_t offset = 0;     // of the first page, in the file
  int64_t num_bytes = 0;  // of payload
  uint32_t crc32c = 0;    // over the pages' CRC fields

  int64_t num_pages() const { return (num_bytes + kPayloadBytes - 1) / kPayloadBytes; }
};

struct Catalog {
  int64_t num_records = 0;
  int64_t record_bytes = 0;
  int64_t raw_bytes = 0;
  Schema schema;
  std::vector<StreamInfo> streams;

  // Position of the stream called `name`; -1 when there is none.
  int find_stream(const std::string& name) const;
};
std::string encode_catalog(const Catalog& catalog);
// Checks that every stream that the schema calls for is there, has the right length and lies before
// `catalog_offset`.
Catalog decode_catalog(std::string_view json, const std::string& path, int64_t catalog_offset);

std::array<std::byte, kEntryBytes> encode_entry(const RecordLocation& location);
// What the bytes say; not checked.
RecordLocation decode_entry(std::span<const std::byte, kEntryBytes> bytes);

// Fills in number, use and CRC of a page whose payload is in place. Returns the CRC.
uint32_t seal_page(std::span<std::byte, kPageBytes> page, int64_t page_number, uint32_t stream,
                   uint32_t payload_bytes);
// Throws Error(corrupt) unless `page` is page `page_number` of stream number `stream` as `info`
// describes it.
void check_page(std::span<const std::byte, kPageBytes> page, int64_t page_number, uint32_t stream,
                const StreamInfo& info, const std::string& path);

}  // namespace ffkit
