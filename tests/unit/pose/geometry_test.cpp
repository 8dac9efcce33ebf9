#include <ffkit/pose/geometry.h>

#include "test_prelude.h"

namespace ffkit::pose {
namespace {

// What the published process_bbox() gives.
TEST(PersonBox, IsClippedSquaredAndEnlarged) {
  EXPECT_EQ(person_box({10, 20, 100, 50}, 1600, 900), (Box{-2.375, -17.375, 123.75, 123.75}));
  EXPECT_EQ(person_box({-30.5, -10.25, 90.5, 200.75}, 1600, 900),
            (Box{-80.09375, -24.96875, 249.6875, 249.6875}));
  EXPECT_EQ(person_box({1500.5, 700.5, 300, 400}, 1600, 900),
            (Box{1425.6875, 675.6875, 248.125, 248.125}));
  EXPECT_EQ(person_box({5, 5, 1, 1}, 1600, 900), (Box{5, 5, 0, 0}));
  EXPECT_EQ(person_box({10, 20, 101, 51}, 1600, 900, 2, 1), (Box{10, 20, 100, 50}));
}

TEST(PersonBox, IsRefusedOutsideOfThePictureAndWithoutArea) {
  EXPECT_FALSE(person_box({100, 100, 0, 50}, 1600, 900));
  EXPECT_FALSE(person_box({1700, 100, 50, 50}, 1600, 900));
}

TEST(Camera, PointsGoToPixelsAndBack) {
  const Camera camera{{1266.4, 1250.2}, {816.3, 491.5}};
  const Point3 point = pixel_to_camera({818.915, 380.994, 7028.105}, camera);
  EXPECT_NEAR(point[0], 14.512393063013313, 1e-9);
  EXPECT_NEAR(point[1], -621.218821892497, 1e-9);
  const Point3 pixel = camera_to_pixel(point, camera);
  EXPECT_NEAR(pixel[0], 818.9149999999962, 1e-10);
  EXPECT_NEAR(pixel[1], 380.99400000015726, 1e-10);
}

TEST(Camera, WorldIsTurnedInSinglePrecision) {
  const std::array<double, 9> rotation = {0, 0, 1, 1, 0, 0, 0, 1, 0};
  const Point3 point = world_to_camera_f32({1, 2, 0.1}, rotation, {10, 20, 30});
  EXPECT_EQ(point, (Point3{double{10.1F}, 21, 32}));
  const Point3 pixel = camera_to_pixel_f32({1, 1, 3}, {{100, 100}, {0.5, 0.5}});
  EXPECT_EQ(pixel[0], double{1.0F / 3.0F * 100.0F + 0.5F});
}

TEST(Camera, KIsTheDistanceAtWhichTheBoxHasItsArea) {
  EXPECT_NEAR(
      distance_of_area(107994.39062499993, {{1266.417203046554, 1266.417203046554}, {0, 0}}),
      7707.36962890625, 1e-3);
}

}  // namespace
}  // namespace ffkit::pose
