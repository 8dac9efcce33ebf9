// ContentHash: 128 bits of bytes, which are equal where the bytes are: among 10^7 records two
// different ones have the same with a probability of 10^-25. Not made against forgers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ffkit {

struct ContentHash {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const ContentHash&) const = default;
};

// MurmurHash3_x64_128 of Austin Appleby (public domain), seed 0; `high` is its first half. Reads
// several GB/s.
ContentHash content_hash(std::span<const std::byte> data);

}  // namespace ffkit
