// The bytes of an FFRecord v1 file, made from FORMAT.md and not by the library.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ffkit::testing {

inline uint32_t zlib_crc32(const std::string& data) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

inline std::string v1_bytes(const std::vector<std::string>& records, bool with_checksums = true) {
  std::string header;
  const auto put = [&header](auto value) {
    header.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(static_cast<int64_t>(records.size()));
  for (const std::string& record : records) put(with_checksums ? zlib_crc32(record) : uint32_t{0});
  auto offset = static_cast<int64_t>(12 + 12 * records.size());
  for (const std::string& record : records) {
    put(offset);
    offset += static_cast<int64_t>(record.size());
  }
  const uint32_t crc = with_checksums ? zlib_crc32(header) : 0;
  std::string file(reinterpret_cast<const char*>(&crc), 4);
  file += header;
  for (const std::string& record : records) file += record;
  return file;
}

inline void write_v1_file(const std::filesystem::path& path,
                          const std::vector<std::string>& records) {
  std::ofstream(path, std::ios::binary) << v1_bytes(records);
}

}  // namespace ffkit::testing
