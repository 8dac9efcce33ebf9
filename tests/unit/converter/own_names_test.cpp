// Which names are ffkit's own: what a conversion removes, and what another program may have there.
#include "converter/output/own_names.h"

#include <gtest/gtest.h>

#include <optional>

namespace ffkit {
namespace {

TEST(OwnNames, OfShards) {
  for (const char* name : {"shard-00012.ffr", "shard-000003-00012-0123456789abcdef.ffr"}) {
    EXPECT_TRUE(is_shard_name(name)) << name;
  }
  for (const char* name :
       {"shard-.ffr", "shard-00012.ffr.tmp", "shard-00012", "a-shard-00012.ffr", "shard-00012x.ffr",
        "shard-000003-00012.ffr", "shard-000003-00012-0123456789abcdeg.ffr", ""}) {
    EXPECT_FALSE(is_shard_name(name)) << name;
  }
}

TEST(OwnNames, HaveTheNumberOfAShard) {
  EXPECT_EQ(number_of_shard("shard-00012.ffr"), 12);
  EXPECT_EQ(number_of_shard("shard-00000.ffr"), 0);
  EXPECT_EQ(number_of_shard("shard-000003-00012-0123456789abcdef.ffr"), std::nullopt);  // a task's
  EXPECT_EQ(number_of_shard("shard-99999999999999999999.ffr"), std::nullopt);
  EXPECT_EQ(number_of_shard("manifest.json"), std::nullopt);
}

TEST(OwnNames, OfFilesThatAreNotFinished) {
  for (const char* name : {"shard-00012.report.tmp", "shard-00012.gather.tmp",
                           "shard-00012.group.tmp", "shard-00012.ffr.tmp", "gathered.tmp",
                           "manifest.json.tmp", "report.jsonl.tmp", "before.tmp", "after.tmp"}) {
    EXPECT_TRUE(is_temporary_name(name)) << name;
  }
  for (const char* name : {"shard-00012.tmp", "other.tmp", "shard-00012.ffr", "manifest.json"}) {
    EXPECT_FALSE(is_temporary_name(name)) << name;
  }
}

}  // namespace
}  // namespace ffkit
