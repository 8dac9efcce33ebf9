// Unaligned little-endian loads and stores. The library runs on little-endian machines only, which
// is checked here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ffkit {

static_assert(std::endian::native == std::endian::little, "ffkit needs a little-endian machine");

template <typename T>
T load_le(const std::byte* p) {
  static_assert(std::is_integral_v<T>);
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

template <typename T>
void store_le(std::byte* p, T value) {
  static_assert(std::is_integral_v<T>);
  std::memcpy(p, &value, sizeof(T));
}

// Of the four big-endian bytes at `p`, as PNG has them.
inline uint32_t load_be_u32(const std::byte* p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(p[i]);
  return value;
}

}  // namespace ffkit
