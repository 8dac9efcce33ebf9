// Single elements of an output as their bits; whole rows go through the vector loops.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <ffkit/format/schema.h>

namespace ffkit {

// IEEE binary16, rounded to nearest, ties to even; infinity beyond 65504.
inline uint16_t to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const float size = std::fabs(value);
  if (!(size < 65520.0F)) return static_cast<uint16_t>(sign | (size != size ? 0x7E00U : 0x7C00U));
  // Below 2^-14 halves have one step of 2^-24.
  if (size < 0x1p-14F) {
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(size * 0x1p24F)));
  }
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  const uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

// bfloat16, rounded to nearest, ties to even; finite values only.
inline uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

inline uint8_t to_u8(float value) {
  return static_cast<uint8_t>(std::nearbyint(std::fmin(std::fmax(value, 0.0F), 255.0F)));
}

}  // namespace ffkit
