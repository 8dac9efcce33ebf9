// FNV-1a, 64 bits (Fowler, Noll, Vo): names for content, where a checksum's 32 bits are too few.
// Not for hash tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ffkit {

inline constexpr uint64_t kFnvBasis = 0xCBF29CE484222325;

constexpr uint64_t fnv1a64(std::span<const std::byte> data, uint64_t hash = kFnvBasis) {
  for (const std::byte byte : data) {
    hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001B3;
  }
  return hash;
}

}  // namespace ffkit
