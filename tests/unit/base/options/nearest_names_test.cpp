#include "base/options/nearest_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ffkit {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NearestNames, AreThoseWithTheFewestOtherLetters) {
  const std::vector<std::string> names = {"threads", "seed", "shard-size", "size", "read"};
  EXPECT_THAT(nearest_names("shard_size", names), ElementsAre("shard-size", "size", "threads"));
  EXPECT_THAT(nearest_names("tread", names), ElementsAre("read", "threads", "seed"));
  EXPECT_THAT(nearest_names("shardsize", names).front(), "shard-size");
  EXPECT_THAT(nearest_names("", {"long", "a"}), ElementsAre("a", "long"));
  EXPECT_THAT(nearest_names("any", {}), IsEmpty());
}

}  // namespace
}  // namespace ffkit
