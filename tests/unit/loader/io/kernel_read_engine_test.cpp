#include "io/kernel_read_engine.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

class ReadProgressTest : public ::testing::Test {
 protected:
  std::array<std::byte, 100> buffer_{};
  ReadProgress read_{
      {.file = 0, .offset = 1000, .num_bytes = 100, .buffer = buffer_.data(), .tag = 7}};
  ReadEngineOptions options_{.num_retries = 2};
};

TEST_F(ReadProgressTest, IsOverWhenAllBytesAreThere) {
  EXPECT_TRUE(read_.advance(100, options_));
  EXPECT_EQ(read_.completion().tag, 7U);
  EXPECT_EQ(read_.completion().result, 100);
}

TEST_F(ReadProgressTest, ContinuesAfterAShortRead) {
  EXPECT_FALSE(read_.advance(30, options_));
  EXPECT_EQ(read_.offset(), 1030);
  EXPECT_EQ(read_.num_bytes(), 70U);
  EXPECT_EQ(read_.buffer(), buffer_.data() + 30);
  EXPECT_TRUE(read_.advance(70, options_));
  EXPECT_EQ(read_.completion().result, 100);
}

TEST_F(ReadProgressTest, EndsAtTheEndOfTheFile) {
  EXPECT_FALSE(read_.advance(30, options_));
  EXPECT_TRUE(read_.advance(0, options_));
  EXPECT_EQ(read_.completion().result, 30);
}

TEST_F(ReadProgressTest, RepeatsInterruptedCallsWithoutLimit) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(read_.advance(-EINTR, options_));
    EXPECT_FALSE(read_.advance(-EAGAIN, options_));
    EXPECT_FALSE(read_.advance(-ECANCELED, options_));
  }
  EXPECT_EQ(read_.offset(), 1000);
  EXPECT_TRUE(read_.advance(100, options_));
}

// Where no thread can be had, or a file system never says anything else.
TEST_F(ReadProgressTest, CallsThatAlwaysFailForAMomentEndAtLast) {
  for (const int error : {EAGAIN, ECANCELED}) {
    ReadProgress read = read_;
    EXPECT_FALSE(read.advance(30, options_));
    int num_calls = 1;
    while (num_calls < 1'000'000 && !read.advance(-error, options_)) ++num_calls;
    EXPECT_LT(num_calls, 1'000'000);
    EXPECT_GT(num_calls, 1000);
    EXPECT_EQ(read.completion().result, -error);
  }
}

TEST_F(ReadProgressTest, CallsThatFailForAMomentMayBeManyAsLongAsOthersRead) {
  for (int num_read = 1; num_read < 100; ++num_read) {
    for (int i = 0; i < 1000; ++i) ASSERT_FALSE(read_.advance(-EAGAIN, options_));
    ASSERT_FALSE(read_.advance(1, options_));
  }
  EXPECT_TRUE(read_.advance(1, options_));
  EXPECT_EQ(read_.completion().result, 100);
}

TEST_F(ReadProgressTest, RetriesEioAsOftenAsAllowed) {
  EXPECT_FALSE(read_.advance(-EIO, options_));
  EXPECT_FALSE(read_.advance(-EIO, options_));
  EXPECT_TRUE(read_.advance(-EIO, options_));
  EXPECT_EQ(read_.completion().result, -EIO);
}

TEST_F(ReadProgressTest, KeepsWhatWasReadBeforeAnEio) {
  EXPECT_FALSE(read_.advance(40, options_));
  EXPECT_FALSE(read_.advance(-EIO, options_));
  EXPECT_EQ(read_.offset(), 1040);
  EXPECT_TRUE(read_.advance(60, options_));
  EXPECT_EQ(read_.completion().result, 100);
}

TEST_F(ReadProgressTest, FailsAtOnceOnOtherErrors) {
  EXPECT_TRUE(read_.advance(-EBADF, options_));
  EXPECT_EQ(read_.completion().result, -EBADF);
}

TEST_F(ReadProgressTest, DirectReadEndsBetweenTwoBlocks) {
  // The end of the file: reading on from an offset that is not aligned would be refused.
  options_.alignment = 16;
  EXPECT_FALSE(read_.advance(32, options_));
  EXPECT_TRUE(read_.advance(20, options_));
  EXPECT_EQ(read_.completion().result, 52);
}

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
