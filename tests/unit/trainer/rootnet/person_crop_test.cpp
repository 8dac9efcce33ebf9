#include "tasks/rootnet/data/person_crop.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

constexpr CropAugmentation kPublishedAugmentation = {
    .rotation = 30, .rotation_probability = 0.6, .flip = 0.5, .color = 0.2};

bool has_opencv() {
  try {
    affine_map({.width = 1, .height = 1}, 1, 1);
    return true;
  } catch (const Error& error) {
    return error.code() != ErrorCode::unsupported;
  }
}

TEST(PersonCrop, IsDrawnAsPublished) {
  constexpr int kDraws = 4000;
  const pose::Box box{10, 20, 30, 40};
  int turned = 0, at_the_end = 0, mirrored = 0;
  double squares = 0, least = 2, most = 0;
  for (int i = 0; i < kDraws; ++i) {
    const PersonCrop crop =
        draw_person_crop(box, kPublishedAugmentation, {.seed = 5, .epoch = 1, .record_index = i});
    EXPECT_LE(std::abs(crop.affine.degrees), 60);
    turned += crop.affine.degrees != 0 ? 1 : 0;
    at_the_end += std::abs(crop.affine.degrees) == 60 ? 1 : 0;
    mirrored += crop.affine.mirrored ? 1 : 0;
    squares += crop.affine.degrees * crop.affine.degrees;
    for (const float factor : crop.color) {
      least = std::min(least, double{factor});
      most = std::max(most, double{factor});
    }
  }
  EXPECT_NEAR(turned / double(kDraws), 0.6, 0.03);
  EXPECT_NEAR(mirrored / double(kDraws), 0.5, 0.03);
  EXPECT_NEAR(at_the_end / double(turned), 0.0455, 0.015);      // beyond two sigma
  EXPECT_NEAR(std::sqrt(squares / turned) / 30, 0.9596, 0.05);  // of a normal cut off there
  EXPECT_NEAR(least, 0.8, 0.001);
  EXPECT_NEAR(most, 1.2, 0.001);
}

TEST(PersonCrop, DependsOnTheKeyAlone) {
  const pose::Box box{10, 20, 30, 40};
  const SampleKey key{.seed = 5, .epoch = 1, .record_index = 7};
  const PersonCrop first = draw_person_crop(box, kPublishedAugmentation, key);
  const PersonCrop again = draw_person_crop(box, kPublishedAugmentation, key);
  EXPECT_EQ(first.affine.degrees, again.affine.degrees);
  EXPECT_EQ(first.color, again.color);
  const PersonCrop other =
      draw_person_crop(box, kPublishedAugmentation, {.seed = 5, .epoch = 2, .record_index = 7});
  EXPECT_NE(first.color, other.color);
  const PersonCrop plain = draw_person_crop(box, {}, key);
  EXPECT_EQ(plain.affine.degrees, 0);
  EXPECT_FALSE(plain.affine.mirrored);
  EXPECT_EQ(plain.color, (std::array<float, 3>{1, 1, 1}));
  EXPECT_EQ(plain.affine.width, 30);
}

// By hand: the root is a quarter of the box from its left edge and half of it from its upper one.
TEST(PersonCrop, TargetIsTheRootOnTheMap) {
  if (!has_opencv()) GTEST_SKIP() << "built without OpenCV";
  PersonRoot person{.box = {100, 200, 80, 80},
                    .camera = {{1500, 1600}, {150, 150}},
                    .root = {120, 240, 3000},
                    .visible = 1,
                    .have_depth = 1,
                    .picture_width = 400};
  PersonCrop crop{.affine = {.x = 100, .y = 200, .width = 80, .height = 80}};
  crop.color = {0.9F, 1, 1.1F};
  auto target = crop_target(person, crop, 256, 2000);
  EXPECT_NEAR(target[CropTarget::kX], 16, 1e-4);
  EXPECT_NEAR(target[CropTarget::kY], 32, 1e-4);
  EXPECT_EQ(target[CropTarget::kDepth], 3000);
  EXPECT_EQ(target[CropTarget::kVisible], 1);
  EXPECT_EQ(target[CropTarget::kHaveDepth], 1);
  EXPECT_NEAR(target[CropTarget::kK], std::sqrt(2000.0 * 2000 * 1500 * 1600 / (80 * 80)), 0.01);
  EXPECT_EQ(target[CropTarget::kRed], 0.9F);
  EXPECT_EQ(target[CropTarget::kBlue], 1.1F);

  // Mirrored: the crop's last pixel but a quarter of it, since pixel x becomes width - x - 1.
  crop.affine.mirrored = true;
  target = crop_target(person, crop, 256, 2000);
  EXPECT_NEAR(target[CropTarget::kX], 48, 1e-4);
  EXPECT_NEAR(target[CropTarget::kY], 32, 1e-4);

  // Out of the crop, which counts as not visible.
  person.root[0] = 99;
  crop.affine.mirrored = false;
  EXPECT_EQ(crop_target(person, crop, 256, 2000)[CropTarget::kVisible], 0);
  person.root[0] = 101;
  EXPECT_EQ(crop_target(person, crop, 256, 2000)[CropTarget::kVisible], 1);
  person.visible = 0;
  EXPECT_EQ(crop_target(person, crop, 256, 2000)[CropTarget::kVisible], 0);
}

}  // namespace
}  // namespace ffkit
