#include "reference_python.h"
#include "test_prelude.h"
#include "transform/picture_scaler.h"

namespace ffkit {
namespace {

TEST(DrawCrop, StaysWithinTheImageAndItsRanges) {
  const RandomResizedCrop options;
  for (const auto& [width, height] :
       {std::pair(500, 375), std::pair(375, 500), std::pair(64, 64)}) {
    for (int64_t i = 0; i < 2000; ++i) {
      CounterRandom random({1, 0, i});
      const Rect rect = draw_crop(options, width, height, random).rect;
      ASSERT_GE(rect.x, 0);
      ASSERT_GE(rect.y, 0);
      ASSERT_LE(rect.x + rect.width, width);
      ASSERT_LE(rect.y + rect.height, height);
      // Within the ranges but for the rounding of both sides to whole pixels.
      const double share = double(rect.width) * rect.height / (double(width) * height);
      const double slack = 1.0 + 0.5 / rect.width + 0.5 / rect.height;
      ASSERT_GE(share * slack, options.scale_min);
      ASSERT_GE((rect.width + 0.5) / (rect.height - 0.5), options.ratio_min);
      ASSERT_LE((rect.width - 0.5) / (rect.height + 0.5), options.ratio_max);
    }
  }
}

TEST(DrawCrop, AreaIsUniformAndRatioLogUniform) {
  // Small crops of a large square: no try is ever turned down, so nothing bends the distributions.
  const RandomResizedCrop options{.scale_min = 0.05, .scale_max = 0.25, .flip_probability = 0.5};
  constexpr int kDraws = 20000;
  int areas[4] = {};
  int ratios[4] = {};
  int flips = 0;
  double sum_x = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    CounterRandom random({9, 4, i});
    const DrawnCrop crop = draw_crop(options, 4000, 4000, random);
    const double share = double(crop.rect.width) * crop.rect.height / 16e6;
    const double log_ratio = std::log(double(crop.rect.width) / crop.rect.height);
    const double log_min = std::log(options.ratio_min);
    const double log_max = std::log(options.ratio_max);
    ++areas[std::clamp(int((share - 0.05) / 0.2 * 4), 0, 3)];
    ++ratios[std::clamp(int((log_ratio - log_min) / (log_max - log_min) * 4), 0, 3)];
    flips += crop.flip ? 1 : 0;
    sum_x += double(crop.rect.x) / (4000 - crop.rect.width);
  }
  // Five standard deviations of a binomial count with p = 1/4.
  for (int count : areas) EXPECT_NEAR(count, kDraws / 4, 310);
  for (int count : ratios) EXPECT_NEAR(count, kDraws / 4, 310);
  EXPECT_NEAR(flips, kDraws / 2, 360);
  EXPECT_NEAR(sum_x / kDraws, 0.5, 0.011);
}

TEST(DrawCrop, FallsBackToTheCentralCropWhenNoTryFits) {
  // torchvision 0.29's get_params on these sizes, with scale (0.9, 1.0), which never fits them.
  const RandomResizedCrop options{.scale_min = 0.9};
  const std::pair<std::pair<int, int>, Rect> cases[] = {{{100, 1000}, {0, 433, 100, 133}},
                                                        {{1000, 100}, {433, 0, 133, 100}},
                                                        {{1, 1500}, {0, 749, 1, 1}}};
  for (const auto& [size, expected] : cases) {
    CounterRandom random({1, 1, 1});
    const Rect rect = draw_crop(options, size.first, size.second, random).rect;
    EXPECT_EQ(rect.x, expected.x);
    EXPECT_EQ(rect.y, expected.y);
    EXPECT_EQ(rect.width, expected.width);
    EXPECT_EQ(rect.height, expected.height);
  }
}

TEST(DrawCrop, FlipProbabilityIsKept) {
  for (int64_t i = 0; i < 200; ++i) {
    CounterRandom random({1, 1, i});
    EXPECT_FALSE(draw_crop(RandomResizedCrop{.flip_probability = 0}, 50, 50, random).flip);
    EXPECT_TRUE(draw_crop(RandomResizedCrop{.flip_probability = 1}, 50, 50, random).flip);
  }
}

TEST(DrawCrop, RandomCropReachesEveryPlaceOfThePaddedImageAlike) {
  const RandomCrop options{.size = {4, 5}, .padding = {1, 2, 3, 0}, .flip_probability = 0.5};
  constexpr int kDraws = 20000;
  // 8 + 1 + 3 - 5 + 1 columns, 6 + 2 + 0 - 4 + 1 rows
  std::map<int, int> columns;
  std::map<int, int> rows;
  int flips = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    CounterRandom random({3, 1, i});
    const DrawnCrop crop = draw_crop(options, 8, 6, random);
    ++columns[crop.rect.x];
    ++rows[crop.rect.y];
    flips += crop.flip ? 1 : 0;
    ASSERT_EQ(crop.rect.width, 5);
    ASSERT_EQ(crop.rect.height, 4);
  }
  EXPECT_EQ(columns.size(), 8U);
  EXPECT_EQ(columns.begin()->first, -1);
  EXPECT_EQ(columns.rbegin()->first, 6);
  EXPECT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows.begin()->first, -2);
  EXPECT_EQ(rows.rbegin()->first, 2);
  // Five standard deviations of binomial counts.
  for (const auto& [x, count] : columns) EXPECT_NEAR(count, kDraws / 8, 234) << x;
  for (const auto& [y, count] : rows) EXPECT_NEAR(count, kDraws / 5, 283) << y;
  EXPECT_NEAR(flips, kDraws / 2, 360);
}

TEST(DrawCrop, RandomCropPadsSmallImagesAsPadIfNeededDoes) {
  // A width of 3 + 1 + 1 lacks 5 of 10: padded by 6 on both sides, to 15.
  const RandomCrop options{.size = {2, 10}, .padding = {1, 0, 1, 0}, .pad_if_needed = true};
  std::set<int> columns;
  std::set<int> rows;
  for (int64_t i = 0; i < 2000; ++i) {
    CounterRandom random({3, 1, i});
    const Rect rect = draw_crop(options, 3, 2, random).rect;
    columns.insert(rect.x);
    rows.insert(rect.y);
  }
  EXPECT_EQ(columns, (std::set<int>{-6, -5, -4, -3, -2, -1}));
  EXPECT_EQ(rows, std::set<int>{0});
}

TEST(DrawCrop, RandomCropRefusesASmallImageWithoutPadIfNeeded) {
  CounterRandom random({3, 1, 0});
  const RandomCrop options{.size = {2, 10}, .padding = {1, 0, 1, 0}};
  EXPECT_ERROR(draw_crop(options, 3, 2, random), unsupported);
  EXPECT_NO_THROW(draw_crop(options, 8, 2, random));
}

TEST(DrawCropReference, RandomCropTakesJustThePlacesThatTorchvisionTakes) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  struct Case {
    ImageSize size;
    Padding padding;
    int width, height;
  };
  const Case cases[] = {{{4, 5}, {1, 2, 3, 0}, 8, 6},
                        {{2, 10}, {1, 0, 1, 0}, 3, 2},
                        {{7, 7}, 0, 7, 7},
                        {{9, 6}, 0, 4, 5},
                        {{3, 3}, {0, 0, 0, 5}, 4, 1},
                        {{12, 1}, {2, 2, 2, 2}, 1, 1}};
  std::string script =
      "import numpy as np, torch\n"
      "from torchvision.transforms import v2\n"
      "def places(n, size, padding, w, h):\n"
      "  t = v2.RandomCrop(size, padding=padding, pad_if_needed=True)\n"
      "  seen = set()\n"
      "  for _ in range(1500):\n"
      "    p = t.make_params([torch.zeros(3, h, w)])\n"
      "    seen.add((p['left'] - p['padding'][0], p['top'] - p['padding'][1]))\n"
      "  np.array(sorted(seen), np.int32).tofile(f'places{n}')\n";
  int n = 0;
  for (const Case& c : cases) {
    const Padding& p = c.padding;
    script += fmt::format("places({}, [{}, {}], [{}, {}, {}, {}], {}, {})\n", n++, c.size.height,
                          c.size.width, p.left, p.top, p.right, p.bottom, c.width, c.height);
  }
  ASSERT_TRUE(testing::run_python(script, dir.path()));
  n = 0;
  for (const Case& c : cases) {
    std::set<std::pair<int, int>> places;
    for (int64_t i = 0; i < 1500; ++i) {
      CounterRandom random({3, 1, i});
      const Rect rect =
          draw_crop(RandomCrop{.size = c.size, .padding = c.padding, .pad_if_needed = true},
                    c.width, c.height, random)
              .rect;
      places.insert({rect.x, rect.y});
    }
    std::vector<int32_t> flat;
    for (const auto& [x, y] : places) flat.insert(flat.end(), {x, y});
    EXPECT_EQ(flat, testing::read_values<int32_t>(dir / fmt::format("places{}", n))) << n;
    ++n;
  }
}

struct CenterCase {
  int width, height, resize, size;
  int resized_width, resized_height;
  Rect taken;
  int pad_x, pad_y;
};

TEST(CenterCropGeometry, IsTorchvisions) {
  // Sizes by torchvision 0.29's Resize; offsets by its CenterCrop: int(round((resized - size) /
  // 2.0)), halves to even.
  const CenterCase cases[] = {
      {500, 375, 256, 224, 341, 256, {58, 16, 224, 224}, 0, 0},  // 58.5 -> 58
      {375, 500, 256, 224, 256, 341, {16, 58, 224, 224}, 0, 0},
      {257, 256, 256, 224, 257, 256, {16, 16, 224, 224}, 0, 0},  // 16.5 -> 16
      {333, 500, 232, 224, 232, 348, {4, 62, 224, 224}, 0, 0},
      {640, 427, 225, 224, 337, 225, {56, 0, 224, 224}, 0, 0},  // 56.5 -> 56, 0.5 -> 0
      {1, 1500, 256, 224, 256, 384000, {16, 191888, 224, 224}, 0, 0},
      {300, 299, 64, 65, 64, 64, {0, 0, 64, 64}, 0, 0},  // pads right and bottom
      {100, 40, 32, 48, 80, 32, {16, 0, 48, 32}, 0, 8},
  };
  for (const CenterCase& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.width << "x" << c.height);
    const auto got = center_crop_geometry({c.resize, c.size}, c.width, c.height);
    EXPECT_EQ(got.resized_width, c.resized_width);
    EXPECT_EQ(got.resized_height, c.resized_height);
    EXPECT_EQ(got.taken.x, c.taken.x);
    EXPECT_EQ(got.taken.y, c.taken.y);
    EXPECT_EQ(got.taken.width, c.taken.width);
    EXPECT_EQ(got.taken.height, c.taken.height);
    EXPECT_EQ(got.pad_x, c.pad_x);
    EXPECT_EQ(got.pad_y, c.pad_y);
  }
  const auto rectangle = center_crop_geometry({256, {100, 400}}, 500, 375);
  EXPECT_EQ(rectangle.taken.x, 0);
  EXPECT_EQ(rectangle.taken.width, 341);
  EXPECT_EQ(rectangle.pad_x, 29);
  EXPECT_EQ(rectangle.taken.y, 78);
  EXPECT_EQ(rectangle.taken.height, 100);
}

}  // namespace
}  // namespace ffkit
