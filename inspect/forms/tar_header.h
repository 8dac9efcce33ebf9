// Headers of tar files, POSIX.1-2001: ustar, with a PAX header where name or size need one. Times,
// owners and modes are the same in all of them, so equal content is equal files.
//
// Written here, since libarchive's writer converts names by the locale of the process: files would
// depend on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

inline constexpr int64_t kTarBlockBytes = 512;

// What stands before the content of a regular file: a multiple of 512 bytes. `name` is relative and
// UTF-8.
std::string tar_header(std::string_view name, int64_t num_bytes);

// Zeros behind a content of `num_bytes`, 0 .. 511.
constexpr int64_t tar_padding(int64_t num_bytes) {
  return (kTarBlockBytes - num_bytes % kTarBlockBytes) % kTarBlockBytes;
}

// Zeros at the end of the file.
inline constexpr int64_t kTarEndBytes = 2 * kTarBlockBytes;

}  // namespace ffkit
