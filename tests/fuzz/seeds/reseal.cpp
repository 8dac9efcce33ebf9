#include "seeds/reseal.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <nlohmann/json.hpp>

#include <ffkit/base/crc32c.h>

#include "base/little_endian.h"
#include "format/shard/shard_layout.h"

// From FORMAT.md rather than by the readers' code: what breaks a reader must break it in the
// target, not while an input is being made.
namespace ffkit::fuzzing {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSmallest = kHeaderBytes + kTrailerBytes;

uint64_t number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : UINT64_MAX;
}

// Whether all pages of the stream lie within the file.
bool is_inside(const Json& stream, size_t file_bytes) {
  if (!stream.is_object()) return false;
  const uint64_t offset = number_at(stream, "offset");
  const uint64_t num_bytes = number_at(stream, "num_bytes");
  return offset <= file_bytes && num_bytes <= file_bytes &&
         (num_bytes + kPayloadBytes - 1) / kPayloadBytes * kPageBytes <= file_bytes - offset;
}

// Calls `use` with every element of the stream `entries`, which is inside.
template <typename Bytes, typename Use>
void for_each_entry(Bytes& shard, const Json& entries, const Use& use) {
  for (uint64_t at = 0; at + kEntryBytes <= number_at(entries, "num_bytes"); at += kEntryBytes) {
    use(shard.data() + number_at(entries, "offset") + at / kPayloadBytes * kPageBytes +
        at % kPayloadBytes);
  }
}

// The stored record of an entry; size 0 when it is not within the file.
Place find_record(const std::vector<std::byte>& shard, const std::byte* entry) {
  const auto offset = load_le<uint64_t>(entry);
  const auto stored_bytes = load_le<uint64_t>(entry + 8);
  if (offset > shard.size() || stored_bytes > shard.size() - offset) return {};
  return {.offset = offset, .size = stored_bytes};
}

Json parse_catalog(const std::vector<std::byte>& shard, const Place& place) {
  const auto* const text = reinterpret_cast<const char*>(shard.data()) + place.offset;
  return Json::parse(text, text + place.size, nullptr, false);
}

size_t num_fields_of(const Json& catalog) {
  const Json fields = catalog.value(Json::json_pointer("/schema/fields"), Json());
  return fields.is_array() ? fields.size() : 0;
}

// As far as the table can be followed.
void reseal_fields(std::span<std::byte> record, size_t num_fields) {
  const uint64_t table_bytes = (12 * num_fields + 7) / 8 * 8;
  if (table_bytes > record.size()) return;
  uint64_t begin = table_bytes;
  for (size_t i = 0; i < num_fields; ++i) {
    const uint64_t end = load_le<uint64_t>(record.data() + 8 * i) & (UINT64_MAX >> 1);
    if (end < begin || end > record.size()) return;
    store_le(record.data() + 8 * num_fields + 4 * i,
             crc32c(record.subspan(begin, end - begin), crc32c(record.subspan(8 * i, 8))));
    begin = (end + 7) / 8 * 8;
  }
}

void reseal_records(std::vector<std::byte>& shard, const Json& entries, size_t num_fields,
                    const Reseal& what) {
  for_each_entry(shard, entries, [&](std::byte* entry) {
    const Place place = find_record(shard, entry);
    if (place.size == 0) return;
    const auto record = std::span(shard).subspan(place.offset, place.size);
    if (what.fields && entry[28] == std::byte{0}) reseal_fields(record, num_fields);
    if (what.records) store_le(entry + 24, crc32c(record));
  });
}

// Returns the CRC of the stream for the catalog.
uint32_t reseal_pages(std::vector<std::byte>& shard, const Json& stream, uint32_t number) {
  uint32_t crc_of_all = 0;
  std::byte* page = shard.data() + number_at(stream, "offset");
  uint64_t left = number_at(stream, "num_bytes");
  for (int64_t p = 0; left > 0; ++p, page += kPageBytes) {
    const auto used = std::min<uint64_t>(left, kPayloadBytes);
    const uint32_t crc = seal_page(std::span<std::byte, kPageBytes>(page, kPageBytes), p, number,
                                   static_cast<uint32_t>(used));
    crc_of_all = crc32c(std::as_bytes(std::span(&crc, 1)), crc_of_all);
    left -= used;
  }
  return crc_of_all;
}

void reseal_index(std::vector<std::byte>& shard, Json& catalog, const Reseal& what) {
  if (!catalog.is_object() || !catalog.contains("streams")) return;
  uint32_t number = 0;
  for (Json& stream : catalog["streams"]) {
    if (is_inside(stream, shard.size())) {
      if (stream.value("name", Json()) == "entries") {
        reseal_records(shard, stream, num_fields_of(catalog), what);
      }
      if (what.pages) stream["crc32c"] = reseal_pages(shard, stream, number);
    }
    ++number;
  }
}

void replace_catalog(std::vector<std::byte>& shard, Place& place, const Json& catalog) {
  const std::string text = catalog.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto bytes = std::as_bytes(std::span(text));
  const auto begin = shard.begin() + static_cast<ptrdiff_t>(place.offset);
  shard.insert(shard.erase(begin, begin + static_cast<ptrdiff_t>(place.size)), bytes.begin(),
               bytes.end());
  place.size = bytes.size();
}

}  // namespace

Place find_catalog(const std::vector<std::byte>& shard) {
  if (shard.size() < kSmallest) return {};
  const size_t end = shard.size() - kTrailerBytes;
  const auto offset = load_le<uint64_t>(shard.data() + end);
  if (offset < kHeaderBytes || offset > end) return {};
  return {.offset = offset, .size = end - offset};
}

std::vector<Place> find_parts(const std::vector<std::byte>& shard) {
  const Place place = find_catalog(shard);
  if (place.size == 0) return {};
  const Json catalog = parse_catalog(shard, place);
  if (!catalog.is_object() || !catalog.contains("streams")) return {};
  std::vector<Place> parts;
  for (const Json& stream : catalog["streams"]) {
    if (!is_inside(stream, shard.size())) continue;
    const uint64_t num_bytes = number_at(stream, "num_bytes");
    for (uint64_t at = 0, page = 0; at < num_bytes; at += kPayloadBytes, ++page) {
      parts.push_back({.offset = number_at(stream, "offset") + page * kPageBytes,
                       .size = std::min<uint64_t>(num_bytes - at, kPayloadBytes)});
    }
    if (stream.value("name", Json()) != "entries") continue;
    for_each_entry(shard, stream, [&](const std::byte* entry) {
      const Place record = find_record(shard, entry);
      if (record.size > 0) parts.push_back(record);
    });
  }
  return parts;
}

void reseal_shard(std::vector<std::byte>& shard, const Reseal& what) {
  constexpr std::array<uint8_t, 8> kMagic = {0x93, 'F', 'F', 'R', '2', '\r', '\n', 0x1A};
  Place place = find_catalog(shard);
  if (place.size == 0) return;
  std::memcpy(shard.data(), kMagic.data(), kMagic.size());
  store_le(shard.data() + 8, kMajorVersion);
  store_le(shard.data() + 4092, crc32c(std::span(shard).first(4092)));

  Json catalog = parse_catalog(shard, place);
  reseal_index(shard, catalog, what);
  if (what.catalog && !catalog.is_discarded()) replace_catalog(shard, place, catalog);

  std::byte* const trailer = shard.data() + place.offset + place.size;
  store_le(trailer + 8, uint64_t{place.size});
  store_le(trailer + 16, crc32c(std::span(shard).subspan(place.offset, place.size)));
  store_le(trailer + 20, kMajorVersion);
  if (catalog.is_object() && catalog.contains("num_records")) {
    store_le(trailer + 24, number_at(catalog, "num_records"));
  }
  store_le(trailer + 32, uint64_t{shard.size()});
  std::memcpy(trailer + 40, shard.data() + 24, 16);
  std::memcpy(trailer + 60, "FFR2", 4);
  store_le(trailer + 56, crc32c(std::span(trailer + 60, 4), crc32c(std::span(trailer, 56))));
}

}  // namespace ffkit::fuzzing
