#include "shard/shard_layout.h"

#include <algorithm>
#include <cstring>

#include <nlohmann/json.hpp>

#include <ffkit/base/crc32c.h>

#include "base/json_text.h"
#include "base/little_endian.h"
#include "base/make_error.h"
#include "schema/schema_json.h"

namespace ffkit {
namespace {

constexpr std::array<uint8_t, 8> kShardMagic = {0x93, 'F', 'F', 'R', '2', '\r', '\n', 0x1A};
constexpr std::array<uint8_t, 4> kEndMagic = {'F', 'F', 'R', '2'};
constexpr const char* kRemedy = "; copy or convert the shard again";

[[noreturn]] void throw_corrupt_shard(const std::string& path, int64_t offset,
                                      const std::string& message) {
  throw Error(ErrorCode::corrupt, message + kRemedy, {.path = path, .offset = offset});
}

void check_crc(uint32_t stored, uint32_t computed, const char* what, const std::string& path,
               int64_t offset) {
  if (stored == computed) return;
  throw_corrupt_shard(path, offset,
                      fmt::format("{} is damaged: its CRC-32C is {:08x}, but must be {:08x}", what,
                                  computed, stored));
}

void check_major_version(uint32_t version, const std::string& path) {
  if (version > kMajorVersion) {
    throw error_at(path, ErrorCode::unsupported,
                   "the shard has format version {}, but this program knows only versions up to "
                   "{}; use a newer ffkit",
                   version, kMajorVersion);
  }
  if (version < kMajorVersion) {
    throw_corrupt_shard(path, 8,
                        fmt::format("has version {}, but the magic number of version 2", version));
  }
}

uint32_t trailer_crc(std::span<const std::byte> bytes) {
  return crc32c(bytes.subspan(60, 4), crc32c(bytes.first(56)));
}

}  // namespace

bool has_v2_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= kShardMagic.size() &&
         std::memcmp(bytes.data(), kShardMagic.data(), kShardMagic.size()) == 0;
}

std::array<std::byte, kHeaderBytes> encode_header(const ShardHeader& header) {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::memcpy(bytes.data(), kShardMagic.data(), kShardMagic.size());
  store_le(bytes.data() + 8, kMajorVersion);
  store_le(bytes.data() + 12, kMinorVersion);
  store_le(bytes.data() + 16, header.alignment);
  std::memcpy(bytes.data() + 24, header.uuid.data(), header.uuid.size());
  store_le(bytes.data() + 4092, crc32c(std::span(bytes).first(4092)));
  return bytes;
}

ShardHeader decode_header(std::span<const std::byte, kHeaderBytes> bytes, const std::string& path) {
  if (!has_v2_magic(bytes)) {
    throw_corrupt_shard(path, 0,
                        "the file is neither an ffkit shard nor an FFRecord v1 file: it does not "
                        "begin with the magic number of a shard");
  }
  // Before the CRC: a newer version may keep its checksum elsewhere.
  check_major_version(load_le<uint32_t>(bytes.data() + 8), path);
  check_crc(load_le<uint32_t>(bytes.data() + 4092), crc32c(bytes.first(4092)), "the header", path,
            0);
  if (const auto flags = load_le<uint32_t>(bytes.data() + 20); flags != 0) {
    throw error_at(
        path, ErrorCode::unsupported,
        "the shard uses features (flags {:08x}) that this program does not know; use a newer ffkit",
        flags);
  }
  ShardHeader header;
  header.alignment = load_le<uint32_t>(bytes.data() + 16);
  std::memcpy(header.uuid.data(), bytes.data() + 24, header.uuid.size());
  if (!is_alignment(header.alignment)) {
    throw_corrupt_shard(path, 16,
                        fmt::format("alignment {} is not a power of two from {} to {}",
                                    header.alignment, kMinAlignment, kMaxAlignment));
  }
  return header;
}

std::array<std::byte, kTrailerBytes> encode_trailer(const ShardTrailer& trailer) {
  std::array<std::byte, kTrailerBytes> bytes{};
  store_le(bytes.data(), trailer.catalog_offset);
  store_le(bytes.data() + 8, trailer.catalog_bytes);
  store_le(bytes.data() + 16, trailer.catalog_crc32c);
  store_le(bytes.data() + 20, kMajorVersion);
  store_le(bytes.data() + 24, trailer.num_records);
  store_le(bytes.data() + 32, trailer.file_bytes);
  std::memcpy(bytes.data() + 40, trailer.uuid.data(), trailer.uuid.size());
  std::memcpy(bytes.data() + 60, kEndMagic.data(), kEndMagic.size());
  store_le(bytes.data() + 56, trailer_crc(bytes));
  return bytes;
}

ShardTrailer decode_trailer(std::span<const std::byte, kTrailerBytes> bytes,
                            const std::string& path, int64_t file_bytes) {
  const int64_t at = file_bytes - kTrailerBytes;
  if (std::memcmp(bytes.data() + 60, kEndMagic.data(), kEndMagic.size()) != 0) {
    throw_corrupt_shard(path, at,
                        "the file does not end with the trailer of a shard: the file was cut off, "
                        "or other data follow the trailer");
  }
  check_crc(load_le<uint32_t>(bytes.data() + 56), trailer_crc(bytes), "the trailer", path, at);
  check_major_version(load_le<uint32_t>(bytes.data() + 20), path);
  ShardTrailer trailer;
  trailer.catalog_offset = load_le<int64_t>(bytes.data());
  trailer.catalog_bytes = load_le<int64_t>(bytes.data() + 8);
  trailer.catalog_crc32c = load_le<uint32_t>(bytes.data() + 16);
  trailer.num_records = load_le<int64_t>(bytes.data() + 24);
  trailer.file_bytes = load_le<int64_t>(bytes.data() + 32);
  std::memcpy(trailer.uuid.data(), bytes.data() + 40, trailer.uuid.size());
  if (trailer.file_bytes != file_bytes) {
    throw_corrupt_shard(path, at,
                        fmt::format("the file has {} bytes, but the trailer says {}", file_bytes,
                                    trailer.file_bytes));
  }
  if (trailer.catalog_offset < kHeaderBytes || trailer.catalog_bytes < 0 ||
      trailer.catalog_offset > at || trailer.catalog_bytes != at - trailer.catalog_offset ||
      trailer.num_records < 0 || trailer.catalog_bytes > kMaxCatalogBytes) {
    throw_corrupt_shard(path, at,
                        fmt::format("the trailer has a wrong place of the catalog ({} bytes at {})",
                                    trailer.catalog_bytes, trailer.catalog_offset));
  }
  return trailer;
}

std::string encode_catalog(const Catalog& catalog) {
  auto streams = nlohmann::ordered_json::array();
  for (const StreamInfo& stream : catalog.streams) {
    streams.push_back({{"name", stream.name},
                       {"offset", stream.offset},
                       {"num_bytes", stream.num_bytes},
                       {"crc32c", stream.crc32c}});
  }
  const nlohmann::ordered_json json = {{"num_records", catalog.num_records},
                                       {"record_bytes", catalog.record_bytes},
                                       {"raw_bytes", catalog.raw_bytes},
                                       {"schema", schema_to_json(catalog.schema)},
                                       {"streams", std::move(streams)}};
  return json_text(json);
}

Catalog decode_catalog(std::string_view text, const std::string& path, int64_t catalog_offset) {
  Catalog catalog;
  try {
    const auto json = nlohmann::json::parse(text);
    catalog.num_records = count_at<int64_t>(json, "num_records");
    catalog.record_bytes = count_at<int64_t>(json, "record_bytes");
    catalog.raw_bytes = count_at<int64_t>(json, "raw_bytes");
    catalog.schema = schema_from_json(json.at("schema"));
    for (const auto& item : json.at("streams")) {
      catalog.streams.push_back({.name = item.at("name").get<std::string>(),
                                 .offset = count_at<int64_t>(item, "offset"),
                                 .num_bytes = count_at<int64_t>(item, "num_bytes"),
                                 .crc32c = count_at<uint32_t>(item, "crc32c")});
    }
  } catch (const nlohmann::json::exception& e) {
    throw_corrupt_shard(path, catalog_offset,
                        fmt::format("the catalog cannot be read ({})", e.what()));
  } catch (const Error& e) {
    throw e.within({.path = path, .offset = catalog_offset});
  }

  const auto require_stream = [&](const std::string& name, int64_t num_bytes) {
    const int found = catalog.find_stream(name);
    if (found < 0) {
      throw_corrupt_shard(path, catalog_offset,
                          fmt::format("the catalog has no stream '{}'", name));
    }
    const int64_t length = catalog.streams[static_cast<size_t>(found)].num_bytes;
    if (num_bytes >= 0 && length != num_bytes) {
      throw_corrupt_shard(path, catalog_offset,
                          fmt::format("the stream '{}' has {} bytes, but must have {} bytes", name,
                                      length, num_bytes));
    }
  };
  const int64_t n = catalog.num_records;
  if (n < 0 || n > catalog_offset / kEntryBytes) {
    throw_corrupt_shard(path, catalog_offset, fmt::format("the catalog cannot have {} records", n));
  }
  require_stream("entries", n * kEntryBytes);
  for (const Field& field : catalog.schema.fields) {
    if (!field.column) continue;
    if (field.type == FieldType::scalar) {
      require_stream("column/" + field.name, n * static_cast<int64_t>(size_of(field.dtype)));
    } else {
      require_stream("column/" + field.name + "/ends", n * 8);
      require_stream("column/" + field.name + "/text", -1);
    }
  }
  if (catalog.find_stream(kContentsStream) >= 0) require_stream(kContentsStream, n * kContentBytes);
  for (const StreamInfo& stream : catalog.streams) {
    if (stream.offset < kHeaderBytes || stream.offset % kPageBytes != 0 || stream.num_bytes < 0 ||
        stream.num_bytes > catalog_offset || stream.offset > catalog_offset ||
        stream.num_pages() * kPageBytes > catalog_offset - stream.offset) {
      throw_corrupt_shard(path, catalog_offset,
                          fmt::format("the stream '{}' is not inside the file", stream.name));
    }
  }
  return catalog;
}

int Catalog::find_stream(const std::string& name) const {
  const auto found = std::ranges::find(streams, name, &StreamInfo::name);
  return found == streams.end() ? -1 : static_cast<int>(found - streams.begin());
}

std::array<std::byte, kEntryBytes> encode_entry(const RecordLocation& location) {
  std::array<std::byte, kEntryBytes> bytes{};
  store_le(bytes.data(), location.offset);
  store_le(bytes.data() + 8, location.stored_bytes);
  store_le(bytes.data() + 16, location.raw_bytes);
  store_le(bytes.data() + 24, location.checksum);
  store_le(bytes.data() + 28, static_cast<uint8_t>(location.codec));
  return bytes;
}

RecordLocation decode_entry(std::span<const std::byte, kEntryBytes> bytes) {
  return {.offset = load_le<int64_t>(bytes.data()),
          .stored_bytes = load_le<int64_t>(bytes.data() + 8),
          .raw_bytes = load_le<int64_t>(bytes.data() + 16),
          .checksum = load_le<uint32_t>(bytes.data() + 24),
          .codec = static_cast<Codec>(bytes[28])};
}

uint32_t seal_page(std::span<std::byte, kPageBytes> page, int64_t page_number, uint32_t stream,
                   uint32_t payload_bytes) {
  store_le(page.data() + 4064, page_number);
  store_le(page.data() + 4072, stream);
  store_le(page.data() + 4076, payload_bytes);
  const uint32_t crc = crc32c(page.first(4092));
  store_le(page.data() + 4092, crc);
  return crc;
}

void check_page(std::span<const std::byte, kPageBytes> page, int64_t page_number, uint32_t stream,
                const StreamInfo& info, const std::string& path) {
  const int64_t offset = info.offset + page_number * kPageBytes;
  const std::string what = fmt::format("page {} of the index stream '{}'", page_number, info.name);
  check_crc(load_le<uint32_t>(page.data() + 4092), crc32c(page.first(4092)), what.c_str(), path,
            offset);
  const int64_t used = std::min(kPayloadBytes, info.num_bytes - page_number * kPayloadBytes);
  if (load_le<int64_t>(page.data() + 4064) != page_number ||
      load_le<uint32_t>(page.data() + 4072) != stream ||
      load_le<uint32_t>(page.data() + 4076) != used) {
    throw_corrupt_shard(path, offset, what + " contains another page");
  }
}

}  // namespace ffkit
