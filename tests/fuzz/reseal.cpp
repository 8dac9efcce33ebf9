#include "reseal.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <nlohmann/json.hpp>

#include <ffkit/format/crc32c.h>

#include "little_endian.h"
#include "shard_layout.h"

// From FORMAT.md rather than by the readers' code: what breaks a reader must break it in the target, not while an input is being made.
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

void reseal_records(std::vector<std::byte>& shard, const Json& entries) {
  for (uint64_t at = 0; at + kEntryBytes <= number_at(entries, "num_bytes"); at += kEntryBytes) {
    std::byte* const entry = shard.data() + number_at(entries, "offset") +
                             at / kPayloadBytes * kPageBytes + at % kPayloadBytes;
    const auto offset = load_le<uint64_t>(entry);
    const auto stored_bytes = load_le<uint64_t>(entry + 8);
    if (offset > shard.size() || stored_bytes > shard.size() - offset) continue;
    store_le(entry + 24, crc32c(std::span(shard).subspan(offset, stored_bytes)));
  }
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
      if (what.records && stream.value("name", Json()) == "entries") reseal_records(shard, stream);
      if (what.pages) stream["crc32c"] = reseal_pages(shard, stream, number);
    }
    ++number;
  }
}

void replace_catalog(std::vector<std::byte>& shard, CatalogPlace& place, const Json& catalog) {
  const std::string text = catalog.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto bytes = std::as_bytes(std::span(text));
  const auto begin = shard.begin() + static_cast<ptrdiff_t>(place.offset);
  shard.insert(shard.erase(begin, begin + static_cast<ptrdiff_t>(place.size)), bytes.begin(),
               bytes.end());
  place.size = bytes.size();
}

}  // namespace

CatalogPlace find_catalog(const std::vector<std::byte>& shard) {
  if (shard.size() < kSmallest) return {};
  const size_t end = shard.size() - kTrailerBytes;
  const auto offset = load_le<uint64_t>(shard.data() + end);
  if (offset < kHeaderBytes || offset > end) return {};
  return {.offset = offset, .size = end - offset};
}

void reseal_shard(std::vector<std::byte>& shard, const Reseal& what) {
  constexpr std::array<uint8_t, 8> kMagic = {0x93, 'F', 'F', 'R', '2', '\r', '\n', 0x1A};
  CatalogPlace place = find_catalog(shard);
  if (place.size == 0) return;
  std::memcpy(shard.data(), kMagic.data(), kMagic.size());
  store_le(shard.data() + 8, kMajorVersion);
  store_le(shard.data() + 4092, crc32c(std::span(shard).first(4092)));

  const auto* const text = reinterpret_cast<const char*>(shard.data()) + place.offset;
  Json catalog = Json::parse(text, text + place.size, nullptr, false);
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
