#include "duplicates/content_hash.h"

#include <algorithm>
#include <bit>

#include "base/little_endian.h"

namespace ffkit {
namespace {

constexpr uint64_t kFirst = 0x87C37B91114253D5;
constexpr uint64_t kSecond = 0x4CF5AD432745937F;

uint64_t mixed_first(uint64_t k) {
  return std::rotl(k * kFirst, 31) * kSecond;
}

uint64_t mixed_second(uint64_t k) {
  return std::rotl(k * kSecond, 33) * kFirst;
}

uint64_t final_mix(uint64_t k) {
  k = (k ^ (k >> 33)) * 0xFF51AFD7ED558CCD;
  k = (k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53;
  return k ^ (k >> 33);
}

// Up to 8 bytes, the first the lowest.
uint64_t load_tail(std::span<const std::byte> data) {
  uint64_t value = 0;
  for (size_t i = data.size(); i > 0; --i) {
    value = value << 8 | std::to_integer<uint64_t>(data[i - 1]);
  }
  return value;
}

}  // namespace

ContentHash content_hash(std::span<const std::byte> data) {
  const size_t length = data.size();
  uint64_t h1 = 0;
  uint64_t h2 = 0;
  for (; data.size() >= 16; data = data.subspan(16)) {
    h1 ^= mixed_first(load_le<uint64_t>(data.data()));
    h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52DCE729;
    h2 ^= mixed_second(load_le<uint64_t>(data.data() + 8));
    h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495AB5;
  }
  if (data.size() > 8) h2 ^= mixed_second(load_tail(data.subspan(8)));
  if (!data.empty()) h1 ^= mixed_first(load_tail(data.first(std::min<size_t>(data.size(), 8))));
  h1 ^= length;
  h2 ^= length;
  h1 += h2;
  h2 += h1;
  h1 = final_mix(h1);
  h2 = final_mix(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

}  // namespace ffkit
