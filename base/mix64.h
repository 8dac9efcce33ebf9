// mix64: the finaliser of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", 2014): a bijection of 64-bit numbers whose every output bit depends on every input
// bit.
#pragma once

#include <cstdint>

namespace ffkit {

constexpr uint64_t mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// Combines two numbers into one key; the order matters.
constexpr uint64_t mix64(uint64_t a, uint64_t b) {
  return mix64(mix64(a) ^ b);
}

}  // namespace ffkit
