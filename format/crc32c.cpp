#include <array>
#include <cstring>

#include <ffkit/format/crc32c.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace ffkit {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// Slicing-by-8 (Kounavis and Berry, 2005): tables[k][b] is the CRC of byte b followed by k zero
// bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    tables[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t k = 1; k < 8; ++k) {
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

uint64_t load64(const std::byte* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

uint32_t extend_portable(uint32_t crc, const std::byte* p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    const uint64_t word = load64(p) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; n > 0; ++p, --n) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<uint32_t>(*p)) & 0xFF];
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t extend_sse42(uint32_t crc, const std::byte* p,
                                                        size_t n) {
  uint64_t wide = crc;
  for (; n >= 8; p += 8, n -= 8) wide = _mm_crc32_u64(wide, load64(p));
  auto narrow = static_cast<uint32_t>(wide);
  for (; n > 0; ++p, --n) narrow = _mm_crc32_u8(narrow, std::to_integer<uint8_t>(*p));
  return narrow;
}
#endif

using Extend = uint32_t (*)(uint32_t, const std::byte*, size_t);

Extend choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return extend_sse42;
#endif
  return extend_portable;
}

}  // namespace

namespace internal {
// For the test that compares both.
uint32_t crc32c_portable(std::span<const std::byte> data, uint32_t crc) {
  return ~extend_portable(~crc, data.data(), data.size());
}
}  // namespace internal

uint32_t crc32c(std::span<const std::byte> data, uint32_t crc) {
  static const Extend extend = choose();
  return ~extend(~crc, data.data(), data.size());
}

}  // namespace ffkit
