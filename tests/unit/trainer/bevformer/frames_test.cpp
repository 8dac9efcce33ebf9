#include "tasks/bevformer/data/frames.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <numbers>

#include "tasks/bevformer/network/bev_geometry.h"

namespace ffkit {
namespace {

TEST(BevFrames, BatchesAreSplitByFrame) {
  const DeviceBatch batch = noise_windows(2, 3, 32, 64, 4, 1);
  const std::vector<BevFrame> frames = frames_of(batch, 3, false);
  ASSERT_EQ(frames.size(), 3U);
  for (int64_t i = 0; i < 3; ++i) {
    const BevFrame& frame = frames[size_t(i)];
    ASSERT_EQ(frame.images.sizes(), (at::IntArrayRef{2, 6, 3, 32, 64}));
    for (int64_t b = 0; b < 2; ++b) {
      EXPECT_TRUE(at::equal(frame.images[b], batch.field("images")[3 * b + i]));
      EXPECT_EQ(frame.has_previous[b].item<bool>(), i > 0);
    }
    EXPECT_EQ(frame.lidar2img.scalar_type(), at::kDouble);
    EXPECT_EQ(frame.can_bus.sizes(), (at::IntArrayRef{2, 18}));
  }
  EXPECT_TRUE(at::equal(frames_of(batch, 3, true)[0].images, frames[0].images.flip({2})));
}

TEST(BevFrames, ObjectsAreThoseOfTheLastFrame) {
  const DeviceBatch batch = noise_windows(2, 3, 32, 64, 4, 1);
  const std::vector<Objects> objects = objects_of(batch, 3);
  ASSERT_EQ(objects.size(), 2U);
  const at::Tensor& boxes = batch.field("boxes");
  for (int64_t b = 0; b < 2; ++b) {
    const int64_t first = (3 * b + 2) * 4;
    EXPECT_TRUE(at::equal(objects[size_t(b)].boxes, to_published_boxes(boxes.narrow(0, first, 4))));
    EXPECT_TRUE(
        at::equal(objects[size_t(b)].labels, batch.field("box_classes").narrow(0, first, 4)));
  }
}

// Of a car of 4 x 2 x 1.5 m that looks along x.
TEST(BevFrames, BoxesHaveThePublishedConvention) {
  const at::Tensor box = at::tensor({10.0, 5.0, 1.0, 4.0, 2.0, 1.5, 0.0, 3.0, -1.0}).unsqueeze(0);
  const at::Tensor published = to_published_boxes(box);
  EXPECT_TRUE(at::allclose(
      published,
      at::tensor({10.0, 5.0, 0.25, 2.0, 4.0, 1.5, -std::numbers::pi / 2, 3.0, -1.0}).unsqueeze(0)));
  const at::Tensor many = noise_windows(1, 1, 32, 32, 50, 3).field("boxes").to(at::kDouble);
  EXPECT_TRUE(at::allclose(from_published_boxes(to_published_boxes(many)), many));
}

// An object ahead is in the middle of the first camera, and each of the others looks 60 degrees
// further to the right.
TEST(BevFrames, NoiseHasSixCamerasAround) {
  BevFormerConfig config;
  config.bev_rows = config.bev_columns = 10;
  config.rotation_center = {5, 5};
  const DeviceBatch batch = noise_windows(1, 1, 90, 160, 1, 1);
  const CameraPoints points = project_pillars(config, batch.field("lidar_to_image").to(at::kDouble),
                                              {.height = 90, .width = 160});
  const at::Tensor seen = points.visible.any(-1)[0];  // [cameras, cells]
  for (int64_t camera = 0; camera < 6; ++camera) {
    EXPECT_GT(seen[camera].sum().item<int64_t>(), 10) << camera;
  }
  const int64_t ahead = 9 * 10 + 5;  // the last row, in the middle: y = 46, x = 5
  EXPECT_TRUE(seen[0][ahead].item<bool>());
  EXPECT_FALSE(seen[3][ahead].item<bool>());
  const int64_t to_the_right = 5 * 10 + 9;
  EXPECT_TRUE(seen[1].logical_or(seen[2])[to_the_right].item<bool>());
}

}  // namespace
}  // namespace ffkit
