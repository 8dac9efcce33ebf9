#include "plan/part_range.h"

#include <gtest/gtest.h>

namespace ffkit {
namespace {

TEST(PartRange, IsReadAsItIsWritten) {
  const PartRange range{
      .part = {.index = 2, .count = 8}, .begin_shard = 10, .end_shard = 20, .num_shards = 80};
  EXPECT_EQ(range.text(), "2/8: shards 10 to 19 of 80");
  const auto read = parse_part_range(range.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->part.index, 2);
  EXPECT_EQ(read->part.count, 8);
  EXPECT_EQ(read->begin_shard, 10);
  EXPECT_EQ(read->end_shard, 20);
  EXPECT_EQ(read->num_shards, 80);
}

TEST(PartRange, NumbersMayBeginWithAnyDigit) {
  for (const char* text : {"1/9: shards 0 to 0 of 9", "9/9: shards 9 to 90 of 99"}) {
    const auto read = parse_part_range(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
}

TEST(PartRange, IsReadOfNothingElse) {
  for (const char* text :
       {"", "2/8", "2/8: shards 10 to 19", "2/8: shards 10 to 19 of", "2/8: shards 10 to 19 of 80 ",
        "2/8: shards 10-19 of 80", "2/8: shards -10 to 19 of 80", "02/8: shards 10 to 19 of 80",
        "2/8: shards 10 to 19 of 99999999999999999999",
        "2/8: shards 10 to 9223372036854775807 of 80"}) {
    EXPECT_FALSE(parse_part_range(text)) << text;
  }
}

}  // namespace
}  // namespace ffkit
