#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include <ffkit/converter/progress_bar.h>

namespace ffkit {
namespace {

TEST(ProgressLine, TellsRateAndTimeLeft) {
  const ConvertProgress progress{.split = "train",
                                 .num_samples = 1'281'167,
                                 .num_done = 538'090,
                                 .num_skipped = 2,
                                 .bytes_done = 59'189'900'000,
                                 .records = "pictures"};
  EXPECT_EQ(
      progress_line(progress, 43.5),
      "train  41 %  538,090 of 1,281,167 pictures (2 skipped)  12,369 pictures/s  1,360 MB/s  "
      "1:00 left");
}

TEST(ProgressLine, CountsHours) {
  const auto line = [](int64_t num_samples) {
    return progress_line({.split = "a", .num_samples = num_samples, .num_done = 1}, 1);
  };
  EXPECT_THAT(line(1 + 59 * 60 + 59), ::testing::HasSubstr(" 59:59 left"));
  EXPECT_THAT(line(1 + 2 * 3600 + 5 * 60 + 7), ::testing::HasSubstr(" 2:05:07 left"));
}

TEST(ProgressLine, HasNoRateBeforeTheFirstSample) {
  EXPECT_EQ(progress_line({.split = "val", .num_samples = 100}, 0), "val   0 %  0 of 100 records");
  EXPECT_EQ(progress_line({.split = "val", .num_samples = 100, .num_done = 5}, 0),
            "val   5 %  5 of 100 records");
}

TEST(ProgressBar, IsSilentOnAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK), 0);
  {
    ProgressBar bar(ends[1]);
    bar.update({.split = "train", .num_samples = 10, .num_done = 5});
  }
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace ffkit
