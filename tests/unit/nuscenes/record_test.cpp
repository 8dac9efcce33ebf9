// What data sets hold and how it is called: classes, fields, splits.
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>

#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

TEST(Classes, AreThoseOfTheDevkit) {
  EXPECT_EQ(class_of_category("vehicle.bus.bendy"), class_number("bus"));
  EXPECT_EQ(class_of_category("human.pedestrian.police_officer"), 8);
  EXPECT_EQ(class_of_category("vehicle.car"), 0);
  EXPECT_EQ(class_of_category("human.pedestrian.stroller"), -1);
  EXPECT_EQ(class_of_category("static_object.bicycle_rack"), -1);
  EXPECT_EQ(attribute_number("pedestrian.moving"), 0);
  EXPECT_EQ(attribute_number("vehicle.stopped"), 7);
  EXPECT_EQ(attribute_number("vehicle"), -1);
}

TEST(KeyframeSchema, HasTheFieldsThatAreAskedFor) {
  const Schema all = keyframe_schema(
      {.cameras = {"CAM_FRONT", "CAM_BACK"}, .lidar_dtype = DType::f16, .can_bus = {"pose"}});
  EXPECT_NO_THROW(validate(all));
  EXPECT_GE(all.index_of("CAM_BACK/intrinsics"), 0);
  EXPECT_EQ(all.index_of("CAM_FRONT_LEFT/image"), -1);
  EXPECT_EQ(all.index_of("CAM_FRONT/sweeps"), -1);
  EXPECT_GE(all.index_of("RADAR_BACK_LEFT/sweeps"), 0);
  EXPECT_GE(all.index_of("can_bus/pose"), 0);
  EXPECT_EQ(all.fields[all.require("LIDAR_TOP/points")].dtype, DType::f16);
  EXPECT_EQ(keyframe_schema({.radar = false}).index_of("RADAR_FRONT/points"), -1);
  EXPECT_NO_THROW(validate(sweep_schema()));
  EXPECT_NO_THROW(validate(map_schema()));
}

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
