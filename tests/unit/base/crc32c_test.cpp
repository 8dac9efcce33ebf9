#include <sys/mman.h>

#include <ffkit/base/crc32c.h>

#include "base/bytes/crc32c_paths.h"
#include "test_prelude.h"

namespace ffkit {
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

class Crc32cPaths : public ::testing::TestWithParam<Crc32cPath> {};
INSTANTIATE_TEST_SUITE_P(All, Crc32cPaths, ::testing::ValuesIn(crc32c_paths()),
                         [](const auto& path) { return std::string(path.param.name); });

// One bit at a time, from the definition.
uint32_t bitwise(uint32_t crc, std::span<const std::byte> data) {
  for (const std::byte byte : data) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) * 0x82F63B78U);
  }
  return crc;
}

std::vector<std::byte> random_bytes(size_t size) {
  std::mt19937 random(1);
  std::vector<std::byte> data(size);
  for (auto& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

// Lengths over several of the largest blocks that a path takes at once: 6144 bytes.
TEST_P(Crc32cPaths, FollowTheDefinitionForEveryLength) {
  const auto data = random_bytes(14000);
  uint32_t expected = 0xDEADBEEF;
  for (size_t size = 0; size <= data.size(); ++size) {
    ASSERT_EQ(GetParam().extend(0xDEADBEEF, data.data(), size), expected) << size;
    if (size < data.size()) expected = bitwise(expected, std::span(data).subspan(size, 1));
  }
}

TEST_P(Crc32cPaths, FollowTheDefinitionForEveryAlignment) {
  const auto data = random_bytes(64 + 1100);
  for (size_t begin = 0; begin < 64; ++begin) {
    uint32_t expected = 1;
    for (size_t size = 0; begin + size < data.size(); ++size) {
      ASSERT_EQ(GetParam().extend(1, data.data() + begin, size), expected) << begin << " " << size;
      expected = bitwise(expected, std::span(data).subspan(begin + size, 1));
    }
  }
}

// The last byte lies at the end of a page behind which nothing may be read.
TEST_P(Crc32cPaths, ReadNothingBehindTheEnd) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(memory);
  ASSERT_EQ(mprotect(begin + page, page, PROT_NONE), 0);
  for (size_t size = 0; size <= page; ++size) {
    const std::span data(begin + page - size, size);
    ASSERT_EQ(GetParam().extend(~0U, data.data(), size),
              crc32c_paths()[0].extend(~0U, data.data(), size))
        << size;
  }
  munmap(memory, 2 * page);
}

}  // namespace
}  // namespace ffkit
