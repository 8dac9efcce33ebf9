#include "stores/object_store.h"

#include <gtest/gtest.h>

#include "addresses/place.h"

namespace ffkit {
namespace {

TEST(Address, IsAPathWithAScheme) {
  EXPECT_TRUE(Place("s3://bucket/set").is_in_store());
  EXPECT_TRUE(Place(std::filesystem::path("hf://datasets/o/n") / "train").is_in_store());
  EXPECT_FALSE(Place("s3:/bucket").is_in_store());
  EXPECT_FALSE(Place("s3://").is_in_store());
  EXPECT_FALSE(Place("/data/s3://x").is_in_store());
}

}  // namespace
}  // namespace ffkit
