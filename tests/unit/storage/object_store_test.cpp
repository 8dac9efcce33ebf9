#include "stores/object_store.h"

#include <gtest/gtest.h>

namespace ffkit {
namespace {

TEST(Address, IsAPathWithAScheme) {
  EXPECT_TRUE(is_address("s3://bucket/set"));
  EXPECT_TRUE(is_address(std::filesystem::path("hf://datasets/o/n") / "train"));
  EXPECT_FALSE(is_address("s3:/bucket"));
  EXPECT_FALSE(is_address("s3://"));
  EXPECT_FALSE(is_address("/data/s3://x"));
}

}  // namespace
}  // namespace ffkit
