// The implementations of CRC-32C behind crc32c(), for those who compare them. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ffkit {

struct Crc32cPath {
  const char* name;
  // Goes on from `crc` without the initial and the final xor: crc32c(data) is ~extend(~0, data, n).
  uint32_t (*extend)(uint32_t crc, const std::byte* data, size_t num_bytes);
};

// Those that this processor can run: the tables first, then from slow to fast. crc32c() takes the
// last.
std::span<const Crc32cPath> crc32c_paths();

}  // namespace ffkit
