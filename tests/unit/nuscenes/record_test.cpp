#include <gtest/gtest.h>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>

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

}  // namespace
}  // namespace ffkit::nuscenes
