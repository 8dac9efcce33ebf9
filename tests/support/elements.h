// Elements of an image output as floats, and back; for tests that compare them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ffkit/format/schema.h>

namespace ffkit::testing {

inline float from_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float value = exponent == 0 ? std::ldexp(float(mantissa), -24)
                                    : std::ldexp(float(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// `value` rounded to `bits` significant bits, ties to even.
inline float round_to_bits(float value, int bits) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, bits - exponent)), exponent - bits);
}

// Number `i` of finite elements.
inline float element(const std::vector<uint8_t>& bytes, size_t i, DType dtype) {
  if (dtype == DType::u8) return bytes[i];
  if (dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, &bytes[4 * i], 4);
    return value;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, &bytes[2 * i], 2);
  if (dtype == DType::f16) return from_half(bits);
  const uint32_t wide = uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, 4);
  return value;
}

inline std::vector<float> elements(const std::vector<uint8_t>& bytes, DType dtype) {
  std::vector<float> values(bytes.size() / size_of(dtype));
  for (size_t i = 0; i < values.size(); ++i) values[i] = element(bytes, i, dtype);
  return values;
}

}  // namespace ffkit::testing
