// Polynomials over GF(2) in "reflected" order throughout: the least significant bit of a number,
// and the first byte in memory, hold the highest power of x. P is the polynomial of CRC-32C.
// Reading a message M leaves the register at M x^32 mod P.
#include <algorithm>
#include <array>

#include <ffkit/base/crc32c.h>

#include "bytes/crc32c_paths.h"
#include "little_endian.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define FFKIT_CRC __attribute__((target("sse4.2,crc32,pclmul")))
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define FFKIT_CRC __attribute__((target("+crc+crypto")))
#endif

namespace ffkit {
namespace {

constexpr uint32_t times_x(uint32_t v) {
  return (v >> 1) ^ ((v & 1) != 0 ? 0x82F63B78U : 0U);
}

// Slicing-by-8 (Kounavis and Berry, 2005): tables[k][b] is the CRC of byte b followed by k zero
// bytes.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = times_x(crc);
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

uint32_t extend_by_tables(uint32_t crc, const std::byte* p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    const uint64_t word = load_le<uint64_t>(p) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; n > 0; ++p, --n) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<uint32_t>(*p)) & 0xFF];
  }
  return crc;
}

#ifdef FFKIT_CRC

// The register after eight more bytes, after one, and the carry-less product of two 32-bit numbers.
// `Crc` is as wide as the instruction's result, which saves an instruction in the chain; its value
// has 32 bits.
#if defined(__x86_64__)
using Crc = uint64_t;
FFKIT_CRC inline Crc add_word(Crc crc, uint64_t word) {
  return _mm_crc32_u64(crc, word);
}
FFKIT_CRC inline Crc add_byte(Crc crc, std::byte byte) {
  return _mm_crc32_u8(static_cast<uint32_t>(crc), std::to_integer<uint8_t>(byte));
}
FFKIT_CRC inline uint64_t multiply(Crc a, uint32_t b) {
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(
      _mm_cvtsi64_si128(static_cast<int64_t>(a)), _mm_cvtsi64_si128(int64_t{b}), 0)));
}
#else
using Crc = uint32_t;
FFKIT_CRC inline Crc add_word(Crc crc, uint64_t word) {
  return __crc32cd(crc, word);
}
FFKIT_CRC inline Crc add_byte(Crc crc, std::byte byte) {
  return __crc32cb(crc, std::to_integer<uint8_t>(byte));
}
FFKIT_CRC inline uint64_t multiply(Crc a, uint32_t b) {
  return vgetq_lane_u64(vreinterpretq_u64_p128(vmull_p64(poly64_t{a}, poly64_t{b})), 0);
}
#endif

FFKIT_CRC uint32_t extend_one_stream(uint32_t begin, const std::byte* p, size_t n) {
  Crc crc = begin;
  for (; n >= 8; p += 8, n -= 8) crc = add_word(crc, load_le<uint64_t>(p));
  for (; n > 0; ++p, --n) crc = add_byte(crc, *p);
  return static_cast<uint32_t>(crc);
}

// The CRC instruction takes three cycles, but one can start in each: three adjacent streams at once
// (Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction", Intel 2011).
// A register goes over w words of zeros when it is multiplied by x^(64 w). The carry-less product
// of two reflected 32-bit numbers is theirs times x, and the CRC instruction multiplies by x^32, so
// the factor kept here is x^(64 w - 33) mod P.
constexpr size_t kMaxStreamWords = 256;

constexpr auto make_skips() {
  std::array<uint32_t, 2 * kMaxStreamWords + 1> skips{};
  uint32_t power = 0x80000000U >> 31;  // x^31
  for (size_t words = 1; words < skips.size(); ++words) {
    skips[words] = power;
    for (int bit = 0; bit < 64; ++bit) power = times_x(power);
  }
  return skips;
}

constexpr auto kSkips = make_skips();

FFKIT_CRC uint32_t extend_three_streams(uint32_t crc, const std::byte* p, size_t n) {
  constexpr size_t kMinBytes = 96;  // below, joining costs more than it saves
  while (n >= kMinBytes) {
    const size_t words = std::min(n / 24, kMaxStreamWords);
    Crc a = crc;
    Crc b = 0;
    Crc c = 0;
    const std::byte* const end = p + 8 * words;
    for (; p != end; p += 8) {
      a = add_word(a, load_le<uint64_t>(p));
      b = add_word(b, load_le<uint64_t>(p + 8 * words));
      c = add_word(c, load_le<uint64_t>(p + 16 * words));
    }
    const uint64_t ab = multiply(a, kSkips[2 * words]) ^ multiply(b, kSkips[words]);
    crc = static_cast<uint32_t>(add_word(0, ab) ^ c);
    p += 16 * words;
    n -= 24 * words;
  }
  return extend_one_stream(crc, p, n);
}

#endif  // FFKIT_CRC

#if defined(__x86_64__)

#define FFKIT_AVX2 __attribute__((target("sse4.2,crc32,pclmul,avx2,vpclmulqdq")))
#define FFKIT_AVX512 __attribute__((target("sse4.2,crc32,pclmul,avx512f,vpclmulqdq")))

// Folding (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009), two or four 128-bit lanes to a register. A lane is L x^64 + H with L
// its first eight bytes. `bits` further on it counts for L x^(bits + 64) + H x^bits; as the
// carry-less product of reflected numbers is theirs times x, the factors are x^(bits + 63) and
// x^(bits - 1), mod P.
constexpr std::array<int64_t, 2> fold_factors(int bits) {
  std::array<int64_t, 2> factors{};
  uint32_t power = 0x80000000U;  // x^0
  for (int i = 0; i <= bits + 63; ++i, power = times_x(power)) {
    if (i == bits - 1) factors[1] = static_cast<int64_t>(uint64_t{power} << 32);
    if (i == bits + 63) factors[0] = static_cast<int64_t>(uint64_t{power} << 32);
  }
  return factors;
}

// The register behind the 16 bytes that the last lane stands for.
FFKIT_CRC inline uint32_t crc_of_lane(__m128i lane) {
  const uint64_t wide = _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(lane)));
  return static_cast<uint32_t>(
      _mm_crc32_u64(wide, static_cast<uint64_t>(_mm_extract_epi64(lane, 1))));
}

FFKIT_AVX2 inline __m256i fold(__m256i lanes, __m256i factors) {
  return _mm256_xor_si256(_mm256_clmulepi64_epi128(lanes, factors, 0x00),
                          _mm256_clmulepi64_epi128(lanes, factors, 0x11));
}

template <int bits>
FFKIT_AVX2 __m256i factors_of_two_lanes() {
  static constexpr auto k = fold_factors(bits);
  return _mm256_set_epi64x(k[1], k[0], k[1], k[0]);
}

FFKIT_AVX2 inline __m256i load_two_lanes(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// Eight registers, because a fold takes longer than it takes to begin the next one.
FFKIT_AVX2 uint32_t extend_folding_256(uint32_t crc, const std::byte* p, size_t n) {
  if (n < 256) return extend_three_streams(crc, p, n);
  __m256i x0 = _mm256_xor_si256(load_two_lanes(p),
                                _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(crc))));
  __m256i x1 = load_two_lanes(p + 32), x2 = load_two_lanes(p + 64), x3 = load_two_lanes(p + 96);
  __m256i x4 = load_two_lanes(p + 128), x5 = load_two_lanes(p + 160);
  __m256i x6 = load_two_lanes(p + 192), x7 = load_two_lanes(p + 224);
  const __m256i by_2048 = factors_of_two_lanes<2048>();
  for (p += 256, n -= 256; n >= 256; p += 256, n -= 256) {
    x0 = _mm256_xor_si256(fold(x0, by_2048), load_two_lanes(p));
    x1 = _mm256_xor_si256(fold(x1, by_2048), load_two_lanes(p + 32));
    x2 = _mm256_xor_si256(fold(x2, by_2048), load_two_lanes(p + 64));
    x3 = _mm256_xor_si256(fold(x3, by_2048), load_two_lanes(p + 96));
    x4 = _mm256_xor_si256(fold(x4, by_2048), load_two_lanes(p + 128));
    x5 = _mm256_xor_si256(fold(x5, by_2048), load_two_lanes(p + 160));
    x6 = _mm256_xor_si256(fold(x6, by_2048), load_two_lanes(p + 192));
    x7 = _mm256_xor_si256(fold(x7, by_2048), load_two_lanes(p + 224));
  }
  const __m256i by_1024 = factors_of_two_lanes<1024>(), by_512 = factors_of_two_lanes<512>();
  const __m256i by_256 = factors_of_two_lanes<256>();
  x4 = _mm256_xor_si256(fold(x0, by_1024), x4);
  x5 = _mm256_xor_si256(fold(x1, by_1024), x5);
  x6 = _mm256_xor_si256(_mm256_xor_si256(fold(x2, by_1024), x6), fold(x4, by_512));
  x7 = _mm256_xor_si256(_mm256_xor_si256(fold(x3, by_1024), x7), fold(x5, by_512));
  __m256i x = _mm256_xor_si256(fold(x6, by_256), x7);
  for (; n >= 32; p += 32, n -= 32) x = _mm256_xor_si256(fold(x, by_256), load_two_lanes(p));
  // The first lane over to the second.
  const __m256i y = fold(x, factors_of_two_lanes<128>());
  const __m128i lane = _mm_xor_si128(_mm256_castsi256_si128(y), _mm256_extracti128_si256(x, 1));
  return extend_one_stream(crc_of_lane(lane), p, n);
}

FFKIT_AVX512 inline __m512i fold(__m512i lanes, __m512i factors) {
  return _mm512_xor_si512(_mm512_clmulepi64_epi128(lanes, factors, 0x00),
                          _mm512_clmulepi64_epi128(lanes, factors, 0x11));
}

template <int bits>
FFKIT_AVX512 __m512i factors_for() {
  static constexpr auto k = fold_factors(bits);
  return _mm512_set_epi64(k[1], k[0], k[1], k[0], k[1], k[0], k[1], k[0]);
}

// The form with a mask, because GCC 12 warns of an uninitialised value in the one without (GCC bug
// 105593).
template <int lane>
FFKIT_AVX512 __m128i lane_of(__m512i lanes) {
  return _mm512_maskz_extracti32x4_epi32(0xF, lanes, lane);
}

FFKIT_AVX512 uint32_t extend_folding(uint32_t crc, const std::byte* p, size_t n) {
  if (n < 256) return extend_three_streams(crc, p, n);
  __m512i x0 = _mm512_xor_si512(_mm512_loadu_si512(p),
                                _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
  __m512i x1 = _mm512_loadu_si512(p + 64);
  __m512i x2 = _mm512_loadu_si512(p + 128);
  __m512i x3 = _mm512_loadu_si512(p + 192);
  const __m512i by_2048 = factors_for<2048>();
  for (p += 256, n -= 256; n >= 256; p += 256, n -= 256) {
    x0 = _mm512_xor_si512(fold(x0, by_2048), _mm512_loadu_si512(p));
    x1 = _mm512_xor_si512(fold(x1, by_2048), _mm512_loadu_si512(p + 64));
    x2 = _mm512_xor_si512(fold(x2, by_2048), _mm512_loadu_si512(p + 128));
    x3 = _mm512_xor_si512(fold(x3, by_2048), _mm512_loadu_si512(p + 192));
  }
  const __m512i by_512 = factors_for<512>();
  __m512i x = _mm512_xor_si512(fold(x0, factors_for<1536>()), fold(x1, factors_for<1024>()));
  x = _mm512_xor_si512(x, _mm512_xor_si512(fold(x2, by_512), x3));
  for (; n >= 64; p += 64, n -= 64) x = _mm512_xor_si512(fold(x, by_512), _mm512_loadu_si512(p));

  // The first three lanes over to the last one.
  static constexpr auto k0 = fold_factors(384);
  static constexpr auto k1 = fold_factors(256);
  static constexpr auto k2 = fold_factors(128);
  const __m512i y = fold(x, _mm512_set_epi64(0, 0, k2[1], k2[0], k1[1], k1[0], k0[1], k0[0]));
  const __m128i lane = _mm_xor_si128(_mm_xor_si128(lane_of<0>(y), lane_of<1>(y)),
                                     _mm_xor_si128(lane_of<2>(y), lane_of<3>(x)));
  return extend_one_stream(crc_of_lane(lane), p, n);
}

#endif

struct Paths {
  std::array<Crc32cPath, 4> paths{{{"tables", extend_by_tables}}};
  size_t count = 1;

  Paths() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
      paths[count++] = {"three_streams", extend_three_streams};
      if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq")) {
        paths[count++] = {"folding_256", extend_folding_256};
      }
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq")) {
        paths[count++] = {"folding", extend_folding};
      }
    }
#elif defined(__aarch64__)
    constexpr unsigned long kNeeded = HWCAP_CRC32 | HWCAP_PMULL;
    if ((getauxval(AT_HWCAP) & kNeeded) == kNeeded) {
      paths[count++] = {"three_streams", extend_three_streams};
    }
#endif
  }
};

}  // namespace

std::span<const Crc32cPath> crc32c_paths() {
  static const Paths paths;
  return std::span(paths.paths).first(paths.count);
}

uint32_t crc32c(std::span<const std::byte> data, uint32_t crc) {
  static const auto extend = crc32c_paths().back().extend;
  return ~extend(~crc, data.data(), data.size());
}

}  // namespace ffkit
