// Converts a DType at run time to a C++ type at compile time, so that code for all number types is
// written once.
//
//   const double sum = visit_dtype(tensor.dtype, [&](auto type) {
//     using T = typename decltype(type)::type;  // uint8_t ... double, Float16, BFloat16
//     ... static_cast<double>(load_number<T>(bytes)) ...
//   });
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ffkit/format/schema.h>

namespace ffkit {

// An IEEE binary16 number as its bits; converts to float without loss.
struct Float16 {
  uint16_t bits = 0;

  explicit operator float() const {
    const int exponent = bits >> 10 & 0x1F;
    const int mantissa = bits & 0x3FF;
    float value = 0;
    if (exponent == 0x1F) {
      value = mantissa == 0 ? std::numeric_limits<float>::infinity()
                            : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(mantissa), -24);
    } else {
      value = std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
  }
  explicit operator double() const { return static_cast<float>(*this); }
};

// A bfloat16 number, the upper half of a float, as its bits; converts to float without loss.
struct BFloat16 {
  uint16_t bits = 0;

  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  explicit operator double() const { return static_cast<float>(*this); }
};

// Loads a little-endian number from `bytes`, at any alignment. Reads sizeof(T) bytes.
template <typename T>
T load_number(const std::byte* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Calls `visitor` with std::type_identity<T>, T being the type of `dtype`, and returns its result.
template <typename Visitor>
decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::u8:
      return visitor(std::type_identity<uint8_t>());
    case DType::i8:
      return visitor(std::type_identity<int8_t>());
    case DType::u16:
      return visitor(std::type_identity<uint16_t>());
    case DType::i16:
      return visitor(std::type_identity<int16_t>());
    case DType::u32:
      return visitor(std::type_identity<uint32_t>());
    case DType::i32:
      return visitor(std::type_identity<int32_t>());
    case DType::u64:
      return visitor(std::type_identity<uint64_t>());
    case DType::i64:
      return visitor(std::type_identity<int64_t>());
    case DType::f16:
      return visitor(std::type_identity<Float16>());
    case DType::bf16:
      return visitor(std::type_identity<BFloat16>());
    case DType::f32:
      return visitor(std::type_identity<float>());
    case DType::f64:
      break;
  }
  return visitor(std::type_identity<double>());
}

// True for u8 .. i64.
constexpr bool is_integer(DType dtype) {
  return dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64;
}

}  // namespace ffkit
