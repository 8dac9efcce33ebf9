#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <ffkit/nuscenes/splits.h>

#include "expect_error.h"

namespace ffkit::nuscenes {
namespace {

using ::testing::ElementsAre;

TEST(Splits, HaveTheOfficialNumbersOfScenes) {
  std::set<std::string> all;
  const std::pair<const char*, size_t> kCounts[] = {{"train", 700}, {"val", 150}, {"test", 150}};
  for (const auto& [split, count] : kCounts) {
    const std::vector<std::string> scenes = scenes_of_split(split);
    EXPECT_EQ(scenes.size(), count) << split;
    EXPECT_TRUE(std::is_sorted(scenes.begin(), scenes.end())) << split;
    all.insert(scenes.begin(), scenes.end());
  }
  EXPECT_EQ(all.size(), 1000U);  // none twice
}

TEST(Splits, OfMiniAreTheDocumentedScenes) {
  EXPECT_THAT(scenes_of_split("mini_train"),
              ElementsAre("scene-0061", "scene-0553", "scene-0655", "scene-0757", "scene-0796",
                          "scene-1077", "scene-1094", "scene-1100"));
  EXPECT_THAT(scenes_of_split("mini_val"), ElementsAre("scene-0103", "scene-0916"));
}

TEST(Splits, BelongToVersions) {
  EXPECT_THAT(splits_of_version("v1.0-trainval"), ElementsAre("train", "val"));
  EXPECT_THAT(splits_of_version("v1.0-mini"), ElementsAre("mini_train", "mini_val"));
  EXPECT_THAT(splits_of_version("v1.0-test"), ElementsAre("test"));
  EXPECT_ERROR(splits_of_version("v2.0"), invalid_argument);
  EXPECT_ERROR(scenes_of_split("trainval"), invalid_argument);
}

}  // namespace
}  // namespace ffkit::nuscenes
