// Unaligned big-endian loads, as PNG wants them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffkit {

// Of the four bytes at `p`.
inline uint32_t load_be_u32(const std::byte* p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(p[i]);
  return value;
}

}  // namespace ffkit
