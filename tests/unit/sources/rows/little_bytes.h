// Numbers as the bytes of files, for tests that make files by hand.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ffkit::testing {

// The bytes of a number, little-endian; reversed: big-endian.
template <typename T>
std::string bytes_of_number(T value, bool is_big_endian = false) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return is_big_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
}

// u32 each.
inline std::string u32s(const std::vector<uint32_t>& values, bool is_big_endian = false) {
  std::string bytes;
  for (const uint32_t value : values) bytes += bytes_of_number(value, is_big_endian);
  return bytes;
}

inline std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

// u32 sizes, then the items.
inline std::string sizes_and_items(const std::vector<std::string>& items) {
  std::string sizes;
  for (const std::string& item : items) {
    sizes += bytes_of_number(static_cast<uint32_t>(item.size()));
  }
  return sizes + joined(items);
}

// u32 count, u32 offsets[count + 1] from the file's beginning, `between`, the rows.
inline std::string table_and_rows(const std::vector<std::string>& rows,
                                  const std::string& between = "") {
  auto offset = static_cast<uint32_t>(4 * (rows.size() + 2) + between.size());
  std::string file = u32s({static_cast<uint32_t>(rows.size()), offset});
  for (const std::string& row : rows) {
    offset += static_cast<uint32_t>(row.size());
    file += bytes_of_number(offset);
  }
  return file + between + joined(rows);
}

// A picture as Pillow's tobytes() gives it, behind its size and mode.
inline std::string pillow_picture(uint32_t width, uint32_t height, const std::string& mode,
                                  const std::string& pixels) {
  return u32s({width, height, static_cast<uint32_t>(mode.size())}) + mode + pixels;
}

// Up to 255 bytes as a frame of zstd with one block, which is not compressed.
inline std::string raw_zstd(const std::string& data) {
  const auto size = static_cast<uint32_t>(data.size());
  return std::string("\x28\xB5\x2F\xFD\x20", 5) + static_cast<char>(size) +
         bytes_of_number(size << 3 | 1).substr(0, 3) + data;
}

}  // namespace ffkit::testing
