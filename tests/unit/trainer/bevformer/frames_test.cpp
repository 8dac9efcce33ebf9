#include <ffkit/format/dataset_writer.h>
#include <ffkit/nuscenes/record.h>

#include "tasks/bevformer/data/bevformer_data.h"
#include "tasks/bevformer/evaluation/detection_evaluation.h"
#include "tasks/bevformer/network/bev_geometry.h"
#include "trainer_prelude.h"

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

CounterRandom random_of(int64_t record) {
  return CounterRandom({.seed = 3, .record_index = record}, 129);
}

TEST(GridMask, KeepsWhatLiesOnALineOfEitherDirection) {
  int num_masks = 0;
  std::set<int64_t> sums;
  for (int64_t record = 0; record < 200; ++record) {
    CounterRandom random = random_of(record);
    const at::Tensor mask = draw_grid_mask(24, 40, 1, random);
    ASSERT_TRUE(mask.defined());
    ASSERT_EQ(mask.sizes(), (at::IntArrayRef{24, 40}));
    EXPECT_TRUE(mask.eq(0).logical_or(mask.eq(1)).all().item<bool>());
    // A row that is not on a line shows the columns' lines alone, and so do all such rows.
    const at::Tensor rows = mask.amin(1), columns = mask.amin(0);
    EXPECT_TRUE(at::equal(mask, at::maximum(rows.unsqueeze(1), columns.unsqueeze(0))));
    sums.insert(mask.sum().item<int64_t>());
    ++num_masks;
  }
  EXPECT_EQ(num_masks, 200);
  EXPECT_GT(sums.size(), 30U);  // periods and places are drawn
}

// Half of the rows and half of the columns are lines: a quarter of the picture goes.
TEST(GridMask, CoversAboutAQuarter) {
  double sum = 0;
  for (int64_t record = 0; record < 500; ++record) {
    CounterRandom random = random_of(record);
    sum += 1 - draw_grid_mask(96, 160, 1, random).mean().item<double>();
  }
  EXPECT_NEAR(sum / 500, 0.3, 0.08);
}

TEST(GridMask, IsDrawnWithItsProbability) {
  int num_masks = 0;
  for (int64_t record = 0; record < 1000; ++record) {
    CounterRandom random = random_of(record);
    if (draw_grid_mask(24, 40, 0.7, random).defined()) ++num_masks;
  }
  EXPECT_NEAR(num_masks, 700, 60);
  CounterRandom random = random_of(0);
  EXPECT_FALSE(draw_grid_mask(24, 40, 0, random).defined());
  EXPECT_FALSE(draw_grid_mask(2, 40, 1, random).defined());
}

TEST(GridMask, OfASampleDependsOnSeedEpochAndKeyframe) {
  const at::Tensor images = at::ones({3, 1, 3, 24, 40});
  const std::vector<int64_t> keyframes = {5, 9, 5};
  const at::Tensor covered = cover_with_grids(images, 1, /*seed=*/3, /*epoch=*/2, keyframes);
  EXPECT_TRUE(at::equal(covered[0], covered[2]));
  EXPECT_FALSE(at::equal(covered[0], covered[1]));
  EXPECT_TRUE(at::equal(covered, cover_with_grids(images, 1, 3, 2, keyframes)));
  EXPECT_FALSE(at::equal(covered[0], cover_with_grids(images, 1, 3, 1, keyframes)[0]));
  EXPECT_FALSE(at::equal(covered[0], cover_with_grids(images, 1, 4, 2, keyframes)[0]));
}

// Scenes of these numbers of keyframes.
Dataset scenes_of(const std::filesystem::path& folder, const std::vector<int>& lengths) {
  const Schema schema{
      {{.name = nuscenes::keyframe::kScene, .type = FieldType::string, .column = true},
       {.name = nuscenes::keyframe::kTimestamp,
        .type = FieldType::scalar,
        .dtype = DType::i64,
        .column = true}}};
  DatasetWriter writer(folder, {.split = "val", .schema = schema});
  RecordBuilder builder(schema);
  int64_t time = 0;
  for (size_t scene = 0; scene < lengths.size(); ++scene) {
    for (int i = 0; i < lengths[scene]; ++i) {
      builder.set_string(0, "scene-" + std::to_string(scene));
      builder.set_scalar<int64_t>(1, ++time);
      writer.append(testing::encoded(builder));
    }
  }
  writer.finish();
  return Dataset::open(folder);
}

TEST(ShareOfScenes, EachKeyframeIsOfOneProcessAndScenesStayWhole) {
  const testing::TempDir dir;
  const std::vector<int> lengths = {3, 1, 4, 1, 5, 2};
  const Dataset split = scenes_of(dir / "val", lengths);
  for (const int world_size : {1, 2, 3, 6, 8}) {
    std::set<int64_t> seen;
    size_t longest = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      const std::vector<int64_t> share = share_of_scenes(split, rank, world_size);
      EXPECT_TRUE(std::is_sorted(share.begin(), share.end()));
      longest = std::max(longest, share.size());
      for (const int64_t keyframe : share) EXPECT_TRUE(seen.insert(keyframe).second);
      for (int64_t first = 0; const int length : lengths) {
        const auto of_scene = std::count_if(share.begin(), share.end(), [&](int64_t keyframe) {
          return keyframe >= first && keyframe < first + length;
        });
        EXPECT_TRUE(of_scene == 0 || of_scene == length);
        first += length;
      }
    }
    EXPECT_EQ(seen.size(), 16U);
    // 16 keyframes: 8 and 8 of two processes, 6 at most of three, and the longest scene where there
    // are as many processes as scenes.
    const size_t expected = world_size == 1 ? 16 : world_size == 2 ? 8 : world_size == 3 ? 6 : 5;
    EXPECT_LE(longest, expected) << world_size;
  }
}

}  // namespace
}  // namespace ffkit
