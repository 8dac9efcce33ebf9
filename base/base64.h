// Bytes as text in base64.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

// For URLs, without padding (RFC 4648, section 5).
inline std::string base64_url(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string result;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    const size_t num_letters = bytes.size() - i >= 3 ? 4 : bytes.size() - i + 1;
    for (size_t k = 0; k < num_letters; ++k) result += kLetters[bits >> (18 - 6 * k) & 63];
  }
  return result;
}

// With padding (RFC 4648, section 4).
inline std::string base64(std::string_view bytes) {
  std::string result = base64_url(bytes);
  std::ranges::replace(result, '-', '+');
  std::ranges::replace(result, '_', '/');
  result.resize((result.size() + 3) / 4 * 4, '=');
  return result;
}

}  // namespace ffkit
