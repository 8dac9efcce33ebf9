#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include <ffkit/format/crc32c.h>

namespace ffkit {
namespace internal {
uint32_t crc32c_portable(std::span<const std::byte> data, uint32_t crc);
}

namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32c, MatchesRfc3720Vectors) {
  EXPECT_EQ(crc32c(bytes("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
  std::vector<std::byte> data(32, std::byte{0});
  EXPECT_EQ(crc32c(data), 0x8A9136AAU);
  data.assign(32, std::byte{0xFF});
  EXPECT_EQ(crc32c(data), 0x62A8AB43U);
  for (size_t i = 0; i < 32; ++i) data[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(data), 0x46DD794EU);
}

TEST(Crc32c, IsTheSameInPieces) {
  const auto text = bytes("the quick brown fox jumps over the lazy dog");
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.subspan(cut), crc32c(text.first(cut))), crc32c(text)) << cut;
  }
}

TEST(Crc32c, HardwareAgreesWithTables) {
  std::mt19937 random(1);
  std::vector<std::byte> data(300);
  for (auto& byte : data) byte = static_cast<std::byte>(random());
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; size + begin <= data.size(); size += 7) {
      const auto part = std::span(data).subspan(begin, size);
      EXPECT_EQ(crc32c(part, 5), internal::crc32c_portable(part, 5));
    }
  }
}

}  // namespace
}  // namespace ffkit
