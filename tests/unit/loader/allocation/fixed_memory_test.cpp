#include "allocation/fixed_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace ffkit {
namespace {

class FixedMemoryTest : public ::testing::Test {
 protected:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(2500);
  FixedMemory memory_{bytes_, 1000};
};

TEST_F(FixedMemoryTest, PiecesCoverTheMemory) {
  const auto regions = memory_.regions();
  ASSERT_EQ(regions.size(), 3U);
  EXPECT_EQ(regions[0].iov_base, bytes_.data());
  EXPECT_EQ(regions[2].iov_base, bytes_.data() + 2000);
  EXPECT_EQ(regions[1].iov_len, 1000U);
  EXPECT_EQ(regions[2].iov_len, 500U);
}

TEST_F(FixedMemoryTest, FindsThePieceThatHoldsAllOfABuffer) {
  EXPECT_EQ(memory_.find(bytes_.data(), 1000), 0);
  EXPECT_EQ(memory_.find(bytes_.data() + 1000, 1), 1);
  EXPECT_EQ(memory_.find(bytes_.data() + 2400, 100), 2);
}

TEST_F(FixedMemoryTest, FindsNoneForBuffersAcrossPiecesOrOutside) {
  EXPECT_EQ(memory_.find(bytes_.data(), 1001), -1);
  EXPECT_EQ(memory_.find(bytes_.data() + 999, 2), -1);
  EXPECT_EQ(memory_.find(bytes_.data() + 2400, 101), -1);
  EXPECT_EQ(memory_.find(bytes_.data() - 1, 1), -1);
  EXPECT_EQ(memory_.find(bytes_.data() + 2500, 1), -1);
  EXPECT_EQ(memory_.find(bytes_.data(), 0), -1);
  EXPECT_EQ(memory_.find(bytes_.data(), 5000), -1);
  const std::byte other{};
  EXPECT_EQ(FixedMemory().find(&other, 1), -1);
  EXPECT_TRUE(FixedMemory().regions().empty());
}

}  // namespace
}  // namespace ffkit
