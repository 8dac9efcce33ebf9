#include "tasks/bevformer/network/bev_geometry.h"

#include <ATen/ops/eye.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

// Five rows of four columns, 10 m high.
BevFormerConfig small_config() {
  BevFormerConfig config;
  config.bev_rows = 5;
  config.bev_columns = 4;
  config.range = {-8, -10, -5, 8, 10, 5};
  config.pillar_points = 2;
  config.rotation_center = {2, 2.5};
  return config;
}

at::Tensor motion(double x, double y, double yaw, double turned_degrees) {
  at::Tensor can_bus = at::zeros({1, 18}, at::kDouble);
  can_bus[0][0] = x;
  can_bus[0][1] = y;
  can_bus[0][16] = yaw;
  can_bus[0][17] = turned_degrees;
  return can_bus;
}

TEST(BevGeometry, ColumnsRunAlongXAndRowsAlongY) {
  const at::Tensor cells = bev_cells(small_config(), at::kDouble);
  ASSERT_EQ(cells.sizes(), (at::IntArrayRef{20, 2}));
  EXPECT_TRUE(at::allclose(cells[0], at::tensor({0.125, 0.1}, at::kDouble)));
  EXPECT_TRUE(at::allclose(cells[1], at::tensor({0.375, 0.1}, at::kDouble)));
  EXPECT_TRUE(at::allclose(cells[4], at::tensor({0.125, 0.3}, at::kDouble)));
}

// 3 m ahead at a yaw of 90 degrees, where ahead is the global y: along the columns' axis there is
// nothing, along the rows' 3 of 20 m.
TEST(BevGeometry, TheShiftIsSeenFromTheEgo) {
  const at::Tensor shift = bev_shift(small_config(), motion(0, 3, std::numbers::pi / 2, 0));
  EXPECT_NEAR(shift[0][0].item<double>(), 0, 1e-12);
  EXPECT_NEAR(shift[0][1].item<double>(), 3.0 / 20, 1e-12);
  const at::Tensor aside = bev_shift(small_config(), motion(3, 0, std::numbers::pi / 2, 0));
  EXPECT_NEAR(aside[0][0].item<double>(), 3.0 / 16, 1e-12);
  EXPECT_NEAR(aside[0][1].item<double>(), 0, 1e-12);
}

TEST(BevGeometry, ATurnByNothingChangesNothing) {
  const at::Tensor bev = at::arange(40, at::kFloat).reshape({1, 20, 2});
  EXPECT_TRUE(at::equal(rotate_bev(small_config(), bev, motion(0, 0, 0, 0)), bev));
}

TEST(BevGeometry, ATurnByHalfIsAMirrorAboutTheCentre) {
  const at::Tensor bev = at::arange(20, at::kFloat).reshape({1, 20, 1}) + 1;
  const at::Tensor turned = rotate_bev(small_config(), bev, motion(0, 0, 0, 180));
  EXPECT_TRUE(at::equal(turned, bev.flip({1})));
}

// A quarter of a turn of five rows of three columns about their middle.
TEST(BevGeometry, WhatTurnsInFromOutsideIsZero) {
  BevFormerConfig config = small_config();
  config.bev_columns = 3;
  config.rotation_center = {1.5, 2.5};
  const at::Tensor bev = at::arange(15, at::kFloat).reshape({1, 15, 1}) + 1;
  const at::Tensor before = bev.reshape({5, 3});
  const at::Tensor turned = rotate_bev(config, bev, motion(0, 0, 0, 90)).reshape({5, 3});
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      const float wanted = i == 0 || i == 4 ? 0 : before[j + 1][3 - i].item<float>();
      EXPECT_EQ(turned[i][j].item<float>(), wanted) << i << ' ' << j;
    }
  }
}

// A camera at the origin that looks along x: u = -y / x, v = -z / x around the middle of a picture
// of 100 x 60.
at::Tensor camera_along_x() {
  at::Tensor m = at::zeros({1, 1, 4, 4}, at::kDouble);
  m[0][0][0][0] = 50;
  m[0][0][0][1] = -50;
  m[0][0][1][0] = 30;
  m[0][0][1][2] = -30;
  m[0][0][2][0] = 1;
  m[0][0][3][3] = 1;
  return m;
}

TEST(BevGeometry, PillarsAreSeenWhereTheyLie) {
  const BevFormerConfig config = small_config();
  const CameraPoints points =
      project_pillars(config, camera_along_x(), {.height = 60, .width = 100});
  ASSERT_EQ(points.points.sizes(), (at::IntArrayRef{1, 1, 20, 2, 2}));
  // Row 2, column 3: x = 6, y = 0; heights -4.5 and 4.5 m.
  const at::Tensor seen = points.points[0][0][2 * 4 + 3];
  EXPECT_NEAR(seen[0][0].item<double>(), 0.5, 1e-12);
  EXPECT_NEAR(seen[0][1].item<double>(), (30 + 30 * 4.5 / 6) / 60, 1e-12);
  EXPECT_NEAR(seen[1][1].item<double>(), (30 - 30 * 4.5 / 6) / 60, 1e-12);
  EXPECT_TRUE(points.visible[0][0][2 * 4 + 3].all().item<bool>());
  // Behind the camera: x = -6. At x = 2 the heights are outside, and at y = 8 the column is.
  EXPECT_FALSE(points.visible[0][0][2 * 4 + 0].any().item<bool>());
  EXPECT_FALSE(points.visible[0][0][2 * 4 + 2].any().item<bool>());
  EXPECT_FALSE(points.visible[0][0][4 * 4 + 3].any().item<bool>());
}

TEST(BevGeometry, VisibleCellsComeFirstInTheirOrder) {
  const BevFormerConfig config = small_config();
  const CameraPoints points =
      project_pillars(config,
                      camera_along_x().expand({1, 2, 4, 4}).contiguous() *
                          at::tensor({1., -1.}, at::kDouble).reshape({1, 2, 1, 1}),
                      {.height = 60, .width = 100});
  const VisibleCells cells = visible_cells(points);
  const at::Tensor visible = points.visible[0][0].any(-1);
  const at::Tensor wanted = visible.nonzero().squeeze(1);
  EXPECT_TRUE(at::equal(cells.index[0].narrow(0, 0, wanted.size(0)), wanted));
  EXPECT_EQ(cells.is_real[0].sum().item<int64_t>(), wanted.size(0));
  for (int64_t i = 0; i < wanted.size(0); ++i) {
    EXPECT_TRUE(at::equal(cells.points[0][i], points.points[0][0][wanted[i].item<int64_t>()]));
  }
  EXPECT_EQ(cells.count.min().item<double>(), 1);
}

// No camera sees anything: nothing to attend to, and no division by zero.
TEST(BevGeometry, NoVisibleCellIsNoError) {
  const VisibleCells cells = visible_cells(
      project_pillars(small_config(), camera_along_x() * 0, {.height = 60, .width = 100}));
  EXPECT_EQ(cells.index.size(1), 0);
  EXPECT_EQ(cells.count.min().item<double>(), 1);
}

}  // namespace
}  // namespace ffkit
