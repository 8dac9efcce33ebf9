#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tasks/bevformer/data/frames.h"

namespace ffkit {
namespace {

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

}  // namespace
}  // namespace ffkit
